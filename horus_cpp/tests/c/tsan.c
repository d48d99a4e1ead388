/*
 * Functions of clang's ThreadSanitizer, which rustc uses, that gcc's does not have. They call ones
 * that gcc's intercepts. Also C++.
 */
#include <stddef.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

void *__tsan_memcpy(void *to, const void *from, size_t bytes);
void *__tsan_memmove(void *to, const void *from, size_t bytes);
void *__tsan_memset(void *to, int byte, size_t bytes);

void *__tsan_memcpy(void *to, const void *from, size_t bytes) { return memcpy(to, from, bytes); }
void *__tsan_memmove(void *to, const void *from, size_t bytes) { return memmove(to, from, bytes); }
void *__tsan_memset(void *to, int byte, size_t bytes) { return memset(to, byte, bytes); }

#ifdef __cplusplus
}
#endif
