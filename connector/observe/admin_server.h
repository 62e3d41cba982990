#pragma once
// The HTTP endpoint: /, /status, /history, /config, /metrics, /healthz and /readyz from AdminPages, until destruction.
// Threads of its own: one that accepts, some that answer, so that slow clients do not hold up a probe.

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "connector/observe/admin_pages.h"

namespace httplib {
class Server;
}

namespace walrelay {

// One line that names the address, the reason and the remedy.
class AdminServerError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class AdminServer {
 public:
  // Listens once constructed. `listen` is host:port, an IPv6 host in brackets; port 0 takes a free one. Logs the event
  // http_listening with the port. Throws AdminServerError. `pages` stays the caller's and has to outlive this.
  AdminServer(const std::string& listen, const AdminPages& pages);
  ~AdminServer();
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  [[nodiscard]] int port() const { return port_; }

 private:
  void start_listening(const std::string& listen);

  std::unique_ptr<httplib::Server> server_;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace walrelay
