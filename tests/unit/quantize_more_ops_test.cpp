// PRelu, operators of many operands, products of more than two dimensions, pools in ceil mode: the integer
// graph against the float Q/DQ graph.
#include <catch2/catch.hpp>

#include "tests/unit/quantize_harness.h"

using namespace dlc;
using test::agrees;
using test::lower;
using test::Names;
using test::OnnxModel;
using test::operators;

TEST_CASE(
    "PRelu with a slope for each channel: its positive part and a depthwise convolution of the negative "
    "one") {
  OnnxModel m;
  m.input("x", {2, 5, 4, 3}).output("y_q");
  test::quantise<uint8_t>(m, "x", "x", 0.53f, 117);
  m.constant<float>("slope", {5, 1, 1}, {0.25f, 0.0f, 1.5f, -0.3f, 1.0f});
  m.node("PRelu", "prelu", {"x_dq", "slope"}, {"p"});
  test::quantise<int8_t>(m, "p", "y", 0.71f, -20);
  const ir::Graph g = lower(m);
  CHECK(operators(g) == Names{"qadd", "qadd", "qconv"});
  agrees(m, g);
}

TEST_CASE("PRelu with one slope is a look-up") {
  OnnxModel m;
  m.input("x", {1, 5, 4, 3}).output("y_q");
  test::quantise<int8_t>(m, "x", "x", 0.53f, 7);
  m.constant<float>("slope", {1}, {0.25f});
  m.node("PRelu", "prelu", {"x_dq", "slope"}, {"p"});
  test::quantise<int8_t>(m, "p", "y", 0.71f, -20);
  const ir::Graph g = lower(m);
  CHECK(operators(g) == Names{"qlut"});
  agrees(m, g, 0);
}

TEST_CASE("Max and Min of many operands, and sums whose parts fit, are chains") {
  const std::string op = GENERATE("Max", "Min", "Sum");
  OnnxModel m;
  m.input("a", {1, 3, 5, 5}).input("b", {1, 3, 5, 5}).input("c", {1, 3, 5, 5}).output("y_q");
  test::quantise<int8_t>(m, "a", "a", 0.53f, 7);
  test::quantise<uint8_t>(m, "b", "b", 0.37f, 120);
  test::quantise<int8_t>(m, "c", "c", 0.41f, 0);
  m.node(op, "many", {"a_dq", "b_dq", "c_dq"}, {"e"});
  m.node("Relu", "relu", {"e"}, {"r"});
  test::quantise<uint8_t>(m, "r", "y", op == "Sum" ? 1.3f : 0.6f, 0);
  const ir::Graph g = lower(m);
  const Names all = operators(g);
  CHECK(std::count(all.begin(), all.end(), op == "Sum" ? "qadd" : "qbinary") >= 2);
  for (const std::string& o : all) CHECK((o == "qadd" || o == "qbinary"));
  if (op != "Sum") agrees(m, g);  // a sum is rounded once more
}

TEST_CASE("A sum whose parts need more than 8 bits stays on the host, with the reason") {
  OnnxModel m;
  m.input("a", {1, 3, 5, 5}).input("b", {1, 3, 5, 5}).input("c", {1, 3, 5, 5}).output("y_q");
  for (const char* x : {"a", "b", "c"}) test::quantise<int8_t>(m, x, x, 0.53f, 7);
  m.node("Sum", "many", {"a_dq", "b_dq", "c_dq"}, {"e"});
  test::quantise<int8_t>(m, "e", "y", 0.2f, 0);
  std::string notes;
  const ir::Graph g = lower(m, &notes);
  CHECK(operators(g) == Names{"Add", "Add"});
  CHECK_THAT(notes, Catch::Contains("the partial sum does not fit 8 bits"));
}

TEST_CASE("MatMul of three dimensions: rows; a Gelu behind it and the next product read them as they are") {
  OnnxModel m;
  m.input("x", {2, 5, 6}).output("z_q");
  test::quantise<int8_t>(m, "x", "x", 0.53f, 7);
  test::random_weight(m, "v", {6, 9}, 1);
  test::random_weight(m, "w", {9, 6}, -1);
  m.node("MatMul", "first", {"x_dq", "v"}, {"f"});
  test::quantise<int8_t>(m, "f", "f", 2.1f, -3);
  m.node("Tanh", "tanh", {"f_dq"}, {"t"});
  test::quantise<int8_t>(m, "t", "t", 0.008f, 0);
  m.node("MatMul", "second", {"t_dq", "w"}, {"s"});
  test::quantise<int8_t>(m, "s", "s", 0.05f, 4);
  m.node("Add", "residual", {"s_dq", "x_dq"}, {"z"});
  test::quantise<int8_t>(m, "z", "z", 0.7f, 4);
  const ir::Graph g = lower(m);
  Names work;
  for (const std::string& o : operators(g))
    if (o != "reshape") work.push_back(o);
  CHECK(work == Names{"qconv", "qlut", "qconv"});  // the sum is the second product's residual
  agrees(m, g);
}

TEST_CASE("Gemm with transA: the stored bytes are transposed in front of it") {
  OnnxModel m;
  m.input("x", {6, 4}).output("y_q");
  test::quantise<uint8_t>(m, "x", "x", 0.53f, 117);
  test::random_weight(m, "w", {6, 9}, 1);
  test::set(m.node("Gemm", "gemm", {"x_dq", "w"}, {"g"}), "transA", int64_t{1});
  test::quantise<int8_t>(m, "g", "y", 2.1f, -3);
  const ir::Graph g = lower(m);
  CHECK(operators(g) == Names{"Transpose", "qconv"});
  agrees(m, g);
}

TEST_CASE(
    "Average pools in ceil mode that count the padding divide by what their window has of map and padding") {
  OnnxModel m(19);
  m.input("x", {1, 3, 8, 7}).output("y_q");
  test::quantise<uint8_t>(m, "x", "x", 0.53f, 117);
  auto& n = m.node("AveragePool", "pool", {"x_dq"}, {"p"});
  test::set(n, "kernel_shape", {3, 3});
  test::set(n, "strides", {2, 2});
  test::set(n, "pads", {1, 1, 1, 1});
  test::set(n, "ceil_mode", int64_t{1});
  test::set(n, "count_include_pad", int64_t{1});
  test::quantise<int8_t>(m, "p", "y", 0.5f, -3);
  const ir::Graph g = lower(m);
  CHECK(operators(g) == Names{"qpool"});
  agrees(m, g);
}

TEST_CASE(
    "A product with or a division by a positive scalar is a change of scale, with other scalars a look-up") {
  const std::string op = GENERATE("Mul", "Div", "Add");
  OnnxModel m;
  m.input("x", {1, 3, 4, 4}).output("y_q");
  test::quantise<int8_t>(m, "x", "x", 0.53f, 7);
  m.constant<float>("k", {}, {1.7f});
  m.node(op, "scale", {"x_dq", "k"}, {"s"});
  test::quantise<int8_t>(m, "s", "y", 0.6f, 1);
  const ir::Graph g = lower(m);
  CHECK(operators(g) == Names{op == "Add" ? "qlut" : "qadd"});
  agrees(m, g);
}

TEST_CASE("Views joined into one by an earlier pass are lowered like any other") {
  OnnxModel m;
  m.input("x", {2, 6, 1, 1}).output("y_q");
  test::quantise<int8_t>(m, "x", "x", 0.53f, 7);
  m.constant<int64_t>("rows", {2}, {2, 6}).constant<int64_t>("map", {4}, {2, 6, 1, 1});
  m.node("Reshape", "flat", {"x_dq", "rows"}, {"f"});
  m.node("Unsqueeze", "deep", {"f", "axes"}, {"d"});
  m.constant<int64_t>("axes", {1}, {2});
  test::quantise<int8_t>(m, "d", "y", 0.53f, 7);
  const ir::Graph g = lower(m);
  CHECK(operators(g) == Names{"reshape"});
  agrees(m, g, 0);
}

TEST_CASE(
    "Channel shuffles one behind the other, and transpositions that undo each other, are one qtake or "
    "nothing") {
  OnnxModel m;
  m.input("x", {2, 6, 3, 5}).output("y_q");
  test::quantise<int8_t>(m, "x", "x", 0.53f, 7);
  m.constant<int64_t>("split", {5}, {2, 2, 3, 3, 5}).constant<int64_t>("whole", {4}, {2, 6, 3, 5});
  std::string v = "x_dq";
  for (const char* name : {"a", "b"}) {
    const std::string n = name;
    m.node("Reshape", n + ".split", {v, "split"}, {n + "s"});
    test::set(m.node("Transpose", n + ".t", {n + "s"}, {n + "t"}), "perm", {0, 2, 1, 3, 4});
    m.node("Reshape", n + ".join", {n + "t", "whole"}, {n});
    test::quantise<int8_t>(m, n, n, 0.53f, 7);
    v = n + "_dq";
  }
  test::quantise<int8_t>(m, v, "y", 0.53f, 7);
  const ir::Graph g = lower(m);
  for (const std::string& o : operators(g)) CHECK(o == "qtake");
  agrees(m, g, 0);
}
