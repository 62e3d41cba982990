// Linked into test programs under ThreadSanitizer only. Debian's librdkafka uses glibc's C11 threads, which TSan does
// not know: a thread that it has not seen starting crashes it. Defined here, in the program, these functions come
// before glibc's and go through POSIX threads, which TSan does know. In glibc mtx_t and cnd_t are the POSIX types under
// other names.

#include <pthread.h>
#include <threads.h>

#include <cerrno>
#include <cstdint>
#include <memory>

// librdkafka itself is not compiled for TSan, which therefore misses half of what its threads agree upon.
extern "C" const char* __tsan_default_suppressions() { return "race:librdkafka.so.1\n"; }

namespace {

static_assert(sizeof(mtx_t) >= sizeof(pthread_mutex_t) && sizeof(cnd_t) >= sizeof(pthread_cond_t));

int c11(int error) {
  switch (error) {
    case 0:
      return thrd_success;
    case ETIMEDOUT:
      return thrd_timedout;
    case EBUSY:
      return thrd_busy;
    case ENOMEM:
      return thrd_nomem;
    default:
      return thrd_error;
  }
}

pthread_mutex_t* posix(mtx_t* mutex) { return reinterpret_cast<pthread_mutex_t*>(mutex); }
pthread_cond_t* posix(cnd_t* condition) { return reinterpret_cast<pthread_cond_t*>(condition); }

struct Start {
  thrd_start_t function;
  void* argument;
};

void* run(void* opaque) {
  const std::unique_ptr<Start> start(static_cast<Start*>(opaque));
  return reinterpret_cast<void*>(static_cast<std::intptr_t>(start->function(start->argument)));
}

}  // namespace

extern "C" {

int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  auto start = std::make_unique<Start>(Start{function, argument});
  const int error = pthread_create(thread, nullptr, run, start.get());
  if (error == 0) static_cast<void>(start.release());  // the new thread's
  return c11(error);
}

int thrd_join(thrd_t thread, int* result) {
  void* value = nullptr;
  const int error = pthread_join(thread, &value);
  if (error == 0 && result != nullptr) *result = static_cast<int>(reinterpret_cast<std::intptr_t>(value));
  return c11(error);
}

int thrd_detach(thrd_t thread) { return c11(pthread_detach(thread)); }

int mtx_init(mtx_t* mutex, int type) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  if ((type & mtx_recursive) != 0) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  const int error = pthread_mutex_init(posix(mutex), &attributes);
  pthread_mutexattr_destroy(&attributes);
  return c11(error);
}

void mtx_destroy(mtx_t* mutex) { pthread_mutex_destroy(posix(mutex)); }
int mtx_lock(mtx_t* mutex) { return c11(pthread_mutex_lock(posix(mutex))); }
int mtx_trylock(mtx_t* mutex) { return c11(pthread_mutex_trylock(posix(mutex))); }
int mtx_timedlock(mtx_t* mutex, const timespec* until) { return c11(pthread_mutex_timedlock(posix(mutex), until)); }
int mtx_unlock(mtx_t* mutex) { return c11(pthread_mutex_unlock(posix(mutex))); }

int cnd_init(cnd_t* condition) { return c11(pthread_cond_init(posix(condition), nullptr)); }
void cnd_destroy(cnd_t* condition) { pthread_cond_destroy(posix(condition)); }
int cnd_signal(cnd_t* condition) { return c11(pthread_cond_signal(posix(condition))); }
int cnd_broadcast(cnd_t* condition) { return c11(pthread_cond_broadcast(posix(condition))); }
int cnd_wait(cnd_t* condition, mtx_t* mutex) { return c11(pthread_cond_wait(posix(condition), posix(mutex))); }
int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* until) {
  return c11(pthread_cond_timedwait(posix(condition), posix(mutex), until));
}

}  // extern "C"
