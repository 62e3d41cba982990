#include "connector/observe/admin_server.h"

#include <fmt/format.h>
#include <httplib.h>

#include <cerrno>
#include <chrono>
#include <system_error>

#include "connector/config/listen_address.h"
#include "connector/observe/log.h"

namespace walrelay {
namespace {

constexpr std::size_t kWorkers = 16;  // a slow client holds one
constexpr std::chrono::seconds kClientTimeout{5};
constexpr std::size_t kRequestBytesMax = 4096;
constexpr std::chrono::seconds kStartTimeout{10};

// The library's own default sets SO_REUSEPORT, with which a second relay would share the port instead of being refused
// it.
void allow_quick_restart(socket_t descriptor) {
  const int on = 1;
  ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
}

void configure(httplib::Server& server) {
  server.set_socket_options(allow_quick_restart);
  server.new_task_queue = [] { return new httplib::ThreadPool(kWorkers); };  // the library takes ownership
  server.set_keep_alive_max_count(1);                                        // an idle client holds no worker
  server.set_read_timeout(kClientTimeout);
  server.set_write_timeout(kClientTimeout);
  server.set_payload_max_length(kRequestBytesMax);
}

void add_page(httplib::Server& server, const char* path, const AdminPages& pages,
              AdminPage (AdminPages::*page)() const) {
  server.Get(path, [&pages, page](const httplib::Request&, httplib::Response& response) {
    const auto made = (pages.*page)();
    response.status = made.status;
    response.set_header("Cache-Control", "no-store");
    response.set_header("X-Content-Type-Options", "nosniff");
    if (!made.content_security_policy.empty()) {
      response.set_header("Content-Security-Policy", made.content_security_policy.c_str());
    }
    response.set_content(made.body, made.content_type.c_str());
  });
}

void add_pages(httplib::Server& server, const AdminPages& pages) {
  add_page(server, "/", pages, &AdminPages::index);
  add_page(server, "/metrics", pages, &AdminPages::metrics);
  add_page(server, "/healthz", pages, &AdminPages::healthz);
  add_page(server, "/readyz", pages, &AdminPages::readyz);
  add_page(server, "/status", pages, &AdminPages::status);
  add_page(server, "/history", pages, &AdminPages::history);
  add_page(server, "/config", pages, &AdminPages::config);
}

// The port that was bound; throws.
int bind(httplib::Server& server, const std::string& listen) {
  const auto address = parse_listen_address(listen);
  if (!address) {
    throw AdminServerError(
        fmt::format("[http] listen: \"{}\" is not host:port; write e.g. \"127.0.0.1:9464\" or \"[::1]:9464\"", listen));
  }
  errno = 0;
  const int port = address->port == 0                                  ? server.bind_to_any_port(address->host)
                   : server.bind_to_port(address->host, address->port) ? address->port
                                                                       : -1;
  if (port > 0) return port;
  const auto reason = errno == 0 ? "the name is not known" : std::generic_category().message(errno);
  throw AdminServerError(
      fmt::format("cannot listen on {} for HTTP: {}; give another address in [http] listen (port 0 takes a free one, "
                  "\"\" turns HTTP off)",
                  listen, reason));
}

}  // namespace

AdminServer::AdminServer(const std::string& listen, const AdminPages& pages)
    : server_(std::make_unique<httplib::Server>()) {
  configure(*server_);
  add_pages(*server_, pages);
  port_ = bind(*server_, listen);
  start_listening(listen);
}

void AdminServer::start_listening(const std::string& listen) {
  thread_ = std::thread([server = server_.get()] { server->listen_after_bind(); });
  // A stop() before the thread has come to listen would be lost, so that the destructor would wait for ever.
  const auto deadline = std::chrono::steady_clock::now() + kStartTimeout;
  while (!server_->is_running() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (server_->is_running()) {
    log_info("http_listening", "serving metrics and health", {{"address", listen}, {"port", port_}});
  } else {
    log_error("http_not_listening", "the HTTP thread does not answer: no metrics, no health", {{"address", listen}});
  }
}

AdminServer::~AdminServer() {
  server_->stop();
  thread_.join();
}

}  // namespace walrelay
