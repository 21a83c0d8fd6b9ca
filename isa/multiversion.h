// Functions compiled for several instruction sets, the best one chosen when the program is loaded.
// DLC_INLINE marks the helpers that must become part of each version.
#pragma once

#define DLC_INLINE [[gnu::always_inline]] inline
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__)
#define DLC_MULTIVERSION __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define DLC_MULTIVERSION
#endif
