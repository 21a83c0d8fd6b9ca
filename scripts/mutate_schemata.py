"""Mutant schemata: all mutants of the RTL in one set of sources, one of them chosen at run time.

Every expression that a mutant changes becomes `(id == 17 ? (a - b) : id == 18 ? ... : (a + b))`, where id is
dlc_mutant_pkg::id, which the power-up of dlc_top takes from the environment variable DLC_MUTANT. Places: right-hand
sides of assignments, conditions of if (not of generate-if), selectors of case, input connections of instances.
Assertions stay as they are.
"""
import random
import re

PACKAGE = """// Which mutant runs (scripts/mutate): 0 is the design as it is.
package dlc_mutant_pkg;
  int unsigned id;
endpackage
"""
CHOICE = """  initial dlc_mutant_pkg::id = $c32("(std::getenv(\\"DLC_MUTANT\\") ? std::atoi(std::getenv(\\"DLC_MUTANT\\")) : 0)");
"""

TOKEN = re.compile(r"\d*'s?[bdhoBDHO][0-9a-fA-F_xXzZ]+|'[01]|[A-Za-z_$][\w$]*(?:::\w+)?|\d+|<<<|>>>|<<|>>|<=|>=|==|!=|"
                   r"&&|\|\||\+:|-:|[-+*/%&|^~!<>?:=.,;'\"\[\](){}#@]|\s+")
SWAPS = {"+": "-", "-": "+", "*": "+", "&&": "||", "||": "&&", "&": "|", "|": "&", "^": "|", "==": "!=", "!=": "==",
         "<": "<=", "<=": "<", ">": ">=", ">=": ">", "<<": ">>", ">>": "<<", ">>>": ">>"}


def tokens_of(text):
    tokens, at = [], 0
    while at < len(text):
        m = TOKEN.match(text, at)
        if not m:
            return None
        tokens.append(m[0])
        at = m.end()
    return tokens


def changed_literal(token):
    if token in ("'0", "'1"):
        return "'1" if token == "'0" else "'0"
    m = re.fullmatch(r"(\d+)'d(\d+)", token)
    if m:
        return f"{m[1]}'d{(int(m[2]) + 1) % 2 ** int(m[1])}"
    m = re.fullmatch(r"(\d+)'b([01]+)", token)
    if m:
        return f"{m[1]}'b{(int(m[2], 2) ^ 1):0{len(m[2])}b}"
    return None


def top_level(tokens, wanted):
    """Positions of `wanted` outside brackets."""
    depth, found = 0, []
    for i, t in enumerate(tokens):
        if t in "([{":
            depth += 1
        elif t in ")]}":
            depth -= 1
        elif depth == 0 and t == wanted:
            found.append(i)
    return found


def token_mutants(tokens):
    """(kind, text) for each change of one token."""
    brackets = []
    for i, t in enumerate(tokens):
        if t in "([{":
            brackets.append(t)
        elif t in ")]}":
            brackets.pop()
        before = next((x for x in reversed(tokens[:i]) if not x.isspace()), "")
        binary = bool(re.match(r"[\w')\]}]", before[-1:]))
        in_index = "[" in brackets
        join = lambda new: "".join(tokens[:i] + [new] + tokens[i + 1:])
        if t in SWAPS and binary and not in_index:
            yield "operator", join(SWAPS[t])
        elif t in ("&", "|") and not binary and not in_index:
            yield "reduction", join("|" if t == "&" else "&")
        elif t in ("!", "~") and not in_index:
            yield "negation", join("")
        elif t == "$signed" and i and brackets and not in_index:
            yield "width", join("$unsigned")
        elif not in_index and changed_literal(t) and before != "'":
            yield "constant", join(changed_literal(t))


def expression_mutants(text, condition):
    """(kind, text) for an expression; condition: of an if, one bit wide."""
    tokens = tokens_of(text)
    if tokens is None or '"' in text:
        return
    yield from token_mutants(tokens)
    question = top_level(tokens, "?")
    if question and not condition:
        yield "condition", f"!({''.join(tokens[:question[0]])}) {''.join(tokens[question[0]:])}"
    terms = top_level(tokens, "&&")
    if terms and not question and not top_level(tokens, "||"):
        parts, last = [], 0
        for cut in terms + [len(tokens)]:
            parts.append("".join(tokens[last:cut]))
            last = cut + 1
        for k in range(len(parts)):
            yield "enable", "&&".join(parts[:k] + parts[k + 1:])
    if condition:
        if not re.match(r"\s*!|[^&|]*[!=]=[^&|]*$", text):  # that is what a changed operator does, too
            yield "condition", f"!({text})"
        yield "enable", "1'b1"
        yield "enable", "1'b0"
        return
    stripped = text.strip()
    if stripped not in ("'0", "'1", "1'b0", "1'b1"):
        yield "enable", "'0"
        yield "enable", "'1"
        yield "off-by-one", f"({text}) + 1'b1"
        yield "width", f"(({text}) << 1) >> 1"


def closing(text, at):
    """Position behind the bracket that closes text[at]."""
    depth = 0
    for i in range(at, len(text)):
        if text[i] in "([{":
            depth += 1
        elif text[i] in ")]}":
            depth -= 1
            if depth == 0:
                return i + 1
    raise ValueError("unbalanced")


def blank(text, pattern):
    """Same length, matches overwritten: what may not be mutated."""
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S | re.M)


def sites(source):
    """(start, end, is_condition) of expressions that may be mutated, in order."""
    text = blank(source, r"//[^\n]*")
    text = blank(text, r"`ifndef SYNTHESIS.*?`endif")
    text = blank(text, r"^module\b.*?\);")  # ports and parameters
    text = blank(text, r"\b(localparam|parameter|genvar)\b[^;]*;")
    text = blank(text, r"#\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")
    text = blank(text, r"\bfor\s*\([^;]*;[^;]*;[^)]*\)")
    text = blank(text, r"\bimport\b[^;]*;|\binitial\b[^;]*;")
    text = blank(text, r"\bif\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\s*begin\s*:")  # generate
    found = []
    for m in re.finditer(r"\b(if|case)\s*\(", text):
        end = closing(text, m.end() - 1)
        found.append((m.end(), end - 1, m[1] == "if"))
    for m in re.finditer(r"\.(\w+_i)\s*\(", text):
        end = closing(text, m.end() - 1)
        if m[1] not in ("clk_i", "rst_ni") and text[m.end():end - 1].strip():
            found.append((m.end(), end - 1, False))
    # The statement begins behind one of these words; its first <= or = outside brackets assigns.
    for m in re.finditer(r"(?<![<>=!])(<=|=)(?!=)", text):
        head = text[:m.start()]
        opening = head.count("(") - head.count(")") + head.count("[") - head.count("]")
        if opening != 0:
            continue
        line = re.split(r"[;]|\bbegin\b|\belse\b", head)[-1]
        if re.search(r"\b(typedef|enum|logic|int|unsigned|unused\w*)\b", line) or "<=" in line or re.search(r"[^<>=!]=[^=]", line):
            continue
        end = text.find(";", m.end())
        found.append((m.end(), end, False))
    found.sort()
    distinct = []
    for site in found:
        if not distinct or site[0] >= distinct[-1][1]:  # nested places once, the outer one
            distinct.append(site)
    return distinct


def candidates(name, source):
    """All mutants of one file: dicts with file, line, kind, was, becomes, start, end."""
    out = []
    for start, end, condition in sites(source):
        text = source[start:end]
        for kind, becomes in expression_mutants(text, condition):
            out.append({"file": name, "line": source.count("\n", 0, start) + 1, "kind": kind,
                        "was": " ".join(text.split()), "becomes": " ".join(becomes.split()), "start": start,
                        "end": end, "text": becomes})
    return out


def draw(mutants, n, rng):
    """n of them, each kind in its turn: some kinds have many more places than others."""
    kinds = {}
    for m in rng.sample(mutants, len(mutants)):
        kinds.setdefault(m["kind"], []).append(m)
    turns = [m for k in sorted(kinds) for m in enumerate(kinds[k])]
    return [m for _, m in sorted(turns, key=lambda turn: turn[0])[:n]]


def choose(by_file, count, seed):
    """`count` mutants spread over the files: the square root of what each offers, drawn by seed; numbered from 1."""
    weight = {f: len(c) ** 0.5 for f, c in by_file.items() if c}
    total = sum(weight.values())
    chosen = []
    for f in sorted(weight):
        n = min(len(by_file[f]), max(4, round(count * weight[f] / total)))
        drawn = draw(by_file[f], n, random.Random(f"{seed}/{f}"))
        chosen += sorted(drawn, key=lambda m: (m["start"], m["text"]))
    for i, mutant in enumerate(chosen):
        mutant["id"] = i + 1
    return chosen


def rewrite(source, mutants):
    """The source with these mutants (of this file) selectable."""
    places = {}
    for m in mutants:
        places.setdefault((m["start"], m["end"]), []).append(m)
    for start, end in sorted(places, reverse=True):
        arms = "".join(f"dlc_mutant_pkg::id == 32'd{m['id']} ? ({m['text']}) : " for m in places[start, end])
        source = f"{source[:start]} ({arms}({source[start:end]})){source[end:]}"
    return source
