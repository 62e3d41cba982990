#include "tests/support/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

// Who the child becomes. Looked up before the fork: afterwards only async-signal-safe calls are allowed.
struct Identity {
  bool change = false;
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;
};

Identity identity_of(const std::string& user) {
  Identity identity;
  if (user.empty() || geteuid() != 0) return identity;
  const passwd* entry = getpwnam(user.c_str());
  if (entry == nullptr) throw std::runtime_error(fmt::format("there is no user {}", user));
  std::array<gid_t, 64> groups{};
  int count = static_cast<int>(groups.size());
  getgrouplist(user.c_str(), entry->pw_gid, groups.data(), &count);
  identity = {true, entry->pw_uid, entry->pw_gid, {}};
  identity.groups.assign(groups.begin(), groups.begin() + count);
  return identity;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  result.reserve(words.size() + 1);
  for (auto& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> merged_environment(const std::vector<std::pair<std::string, std::string>>& added) {
  std::vector<std::string> result;
  result.reserve(added.size());
  for (const auto& [name, value] : added) result.push_back(fmt::format("{}={}", name, value));
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    bool replaced = false;
    for (const auto& [name, value] : added) replaced = replaced || text.substr(0, text.find('=')) == name;
    if (!replaced) result.emplace_back(text);
  }
  return result;
}

bool become(const Identity& identity) {
  if (!identity.change) return true;
  return setgroups(identity.groups.size(), identity.groups.data()) == 0 && setgid(identity.group) == 0 &&
         setuid(identity.user) == 0;
}

struct ChildPlan {
  std::array<int, 3> streams{};  // standard input, output, error
  int report = -1;               // where to write errno if the program cannot be run; closed by exec
  pid_t parent = 0;
  int death_signal = 0;
  Identity identity;
};

// Runs in the child between fork and exec.
[[noreturn]] void run_child(const ChildPlan& plan, char* const* arguments, char* const* environment) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  setpgid(0, 0);  // a Ctrl-C on the terminal ends the test, and that ends us
  for (int target = 0; target < 3; ++target) dup2(plan.streams[static_cast<std::size_t>(target)], target);
  // The identity first: a change of it clears the death signal.
  const bool ready = become(plan.identity) && prctl(PR_SET_PDEATHSIG, plan.death_signal) == 0;
  if (getppid() != plan.parent) _exit(127);  // it died before the signal was asked for
  if (ready) execvpe(arguments[0], arguments, environment);
  const int error = errno;
  if (write(plan.report, &error, sizeof error) < 0) _exit(126);
  _exit(127);
}

int open_stream(const std::string& path, int flags) {
  const int descriptor = open(path.c_str(), flags | O_CLOEXEC, 0644);
  if (descriptor < 0) throw std::runtime_error(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  return descriptor;
}

// A line "VmRSS:   1234 kB" of /proc/PID/status, in bytes.
std::size_t memory_figure(pid_t pid, const std::string& name) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stoul(line.substr(name.size() + 1)) * 1024;
  }
  return 0;
}

}  // namespace

Process::Process(const std::string& program, std::vector<std::string> arguments, const ProcessOptions& options) {
  arguments.insert(arguments.begin(), program);
  auto environment = merged_environment(options.environment);
  const auto argument_pointers = pointers(arguments);
  const auto environment_pointers = pointers(environment);
  std::array<int, 2> report{};
  if (pipe2(report.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");

  ChildPlan plan;
  plan.identity = identity_of(options.user);
  plan.streams = {open_stream("/dev/null", O_RDONLY), open_stream(files_.file("stdout"), O_WRONLY | O_CREAT),
                  open_stream(files_.file("stderr"), O_WRONLY | O_CREAT)};
  plan.report = report[1];
  plan.parent = getpid();
  plan.death_signal = options.death_signal;
  pid_ = fork();
  if (pid_ == 0) run_child(plan, argument_pointers.data(), environment_pointers.data());

  for (const int descriptor : plan.streams) close(descriptor);
  close(report[1]);
  int error = 0;
  const bool failed = read(report[0], &error, sizeof error) > 0 || pid_ < 0;
  close(report[0]);
  if (!failed) return;
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
  throw std::runtime_error(fmt::format("cannot run {}: {}", program, std::strerror(error)));
}

Process::~Process() {
  if (!running()) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

bool Process::running() { return !wait(milliseconds(0)); }

void Process::signal(int number) {
  if (running()) kill(pid_, number);
}

std::optional<ExitStatus> Process::wait(milliseconds at_most) {
  const bool finished = wait_until(at_most, [this] {
    int status = 0;
    if (ended_ || waitpid(pid_, &status, WNOHANG) != pid_) return ended_.has_value();
    ended_ = WIFSIGNALED(status) ? ExitStatus{-1, WTERMSIG(status)} : ExitStatus{WEXITSTATUS(status), 0};
    return true;
  });
  return finished ? ended_ : std::nullopt;
}

std::size_t Process::resident_bytes() const { return memory_figure(pid_, "VmRSS"); }
std::size_t Process::peak_resident_bytes() const { return memory_figure(pid_, "VmHWM"); }

CommandResult run_command(const std::string& program, std::vector<std::string> arguments, const ProcessOptions& options,
                          milliseconds at_most) {
  Process process(program, std::move(arguments), options);
  const auto ended = process.wait(at_most);
  return {ended ? ended->code : -1, process.output(), process.errors()};
}

}  // namespace walrelay::test
