#include "tests/support/test_network.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "tests/support/process.h"

namespace walrelay::test {
namespace {

std::string near_end(int number) { return fmt::format("near{}", number); }
std::string far_end(int number) { return fmt::format("far{}", number); }

int open_namespace() {
  const int descriptor = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw std::runtime_error(fmt::format("network namespace: {}", strerror(errno)));
  return descriptor;
}

void go_into(int descriptor) {
  if (setns(descriptor, CLONE_NEWNET) != 0) throw std::runtime_error(fmt::format("setns: {}", strerror(errno)));
}

void ip(const std::vector<std::string>& arguments) {
  const auto result = run_command("ip", arguments);
  if (result.status != 0) throw std::runtime_error("ip: " + result.errors);
}

}  // namespace

NetworkNamespace::NetworkNamespace() : before_(open_namespace()) {
  if (unshare(CLONE_NEWNET) != 0) {
    const std::string reason = strerror(errno);
    close(before_);
    throw std::runtime_error("no network namespace: " + reason);
  }
  own_ = open_namespace();
  ip({"link", "set", "lo", "up"});
}

NetworkNamespace::~NetworkNamespace() {
  leave();
  close(own_);
  close(before_);
}

void NetworkNamespace::enter() const { go_into(own_); }

void NetworkNamespace::leave() const { go_into(before_); }

std::string NetworkNamespace::path() const { return fmt::format("/proc/{}/fd/{}", getpid(), own_); }

FarHost::FarHost(int number) : number_(number) {
  namespace_.leave();
  ip({"link", "add", near_end(number), "type", "veth", "peer", "name", far_end(number), "netns", namespace_.path()});
  ip({"address", "add", fmt::format("10.73.{}.1/24", number), "dev", near_end(number)});
  run([&] { ip({"address", "add", address() + "/24", "dev", far_end(number)}); });
  plug_in();
}

std::string FarHost::address() const { return fmt::format("10.73.{}.2", number_); }

void FarHost::run(const std::function<void()>& work) const {
  namespace_.enter();
  try {
    work();
  } catch (...) {
    namespace_.leave();
    throw;
  }
  namespace_.leave();
}

void FarHost::unplug_here() const { ip({"link", "set", near_end(number_), "down"}); }

void FarHost::unplug_there() const {
  run([&] { ip({"link", "set", far_end(number_), "down"}); });
}

void FarHost::plug_in() const {
  ip({"link", "set", near_end(number_), "up"});
  run([&] { ip({"link", "set", far_end(number_), "up"}); });
}

}  // namespace walrelay::test
