/*
 * What clang's ThreadSanitizer, which rustc has, calls and gcc's does not know: it sees what these
 * call. Also C++.
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
