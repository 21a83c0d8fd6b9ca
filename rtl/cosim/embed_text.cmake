# Writes a C++ source that defines `NAME` as the text of a file: cmake -DIN=... -DOUT=... -DNAME=... -P this
file(READ ${IN} text)
file(WRITE ${OUT} "// Generated from ${IN}.\nnamespace dlc {\nextern const char* const ${NAME};\nconst char* const ${NAME} = R\"embedded(${text})embedded\";\n}  // namespace dlc\n")
