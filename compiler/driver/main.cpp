#include "compiler/driver/commands.h"

int main(int argc, char** argv) { return dlc::dlc_main(argc, argv); }
