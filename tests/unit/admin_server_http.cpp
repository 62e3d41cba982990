#include <arpa/inet.h>
#include <httplib.h>

#include <string>
#include <vector>

#include "connector/config/config.h"
#include "connector/observe/admin_server.h"
#include "tests/support/catch.h"
#include "tests/support/set_clock.h"

namespace walrelay::test {
namespace {

struct ServerFixture {
  SetClock clock;
  RelayMetrics metrics{1};
  StatusBoard board{clock.wall()};
  History history{metrics, board, clock};
  AdminPages pages{{"1.2.3", "orders", {"public.outbox"}, "kafka", 0, "[postgres]\n"}, metrics, board, history, clock};

  std::string refusal(const std::string& listen) const {
    try {
      const AdminServer server(listen, pages);
      return "";
    } catch (const AdminServerError& error) {
      return error.what();
    }
  }
};

class TcpClient {
 public:
  TcpClient() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {}
  ~TcpClient() { ::close(socket_); }
  TcpClient(const TcpClient&) = delete;
  TcpClient& operator=(const TcpClient&) = delete;

  bool connect(const char* host, int port) const {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    ::inet_pton(AF_INET, host, &address.sin_addr);
    return ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  void send(const std::string& text) const { CHECK(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) > 0); }

 private:
  int socket_;
};

}  // namespace

TEST_CASE_METHOD(ServerFixture, "port 0 takes a free port and serves every page on it") {
  const AdminServer server("127.0.0.1:0", pages);
  REQUIRE(server.port() > 0);
  httplib::Client client("127.0.0.1", server.port());
  for (const auto* path : {"/", "/metrics", "/healthz", "/status", "/history", "/config"}) {
    const auto response = client.Get(path);
    CAPTURE(path);
    REQUIRE(response);
    CHECK(response->status == 200);
    CHECK_FALSE(response->body.empty());
  }
  CHECK(client.Get("/metrics")->get_header_value("Content-Type") == "text/plain; version=0.0.4; charset=utf-8");
  CHECK(client.Get("/status")->get_header_value("Content-Type") == "application/json");
  CHECK(client.Get("/readyz")->status == 503);
  CHECK(client.Get("/nothing")->status == 404);
}

TEST_CASE_METHOD(ServerFixture,
                 "the page for people comes with its policy, no page is kept by a browser or taken for another type") {
  const AdminServer server("127.0.0.1:0", pages);
  httplib::Client client("127.0.0.1", server.port());
  const auto page = client.Get("/");
  REQUIRE(page);
  CHECK(page->get_header_value("Content-Type") == "text/html; charset=utf-8");
  CHECK_THAT(page->get_header_value("Content-Security-Policy"), ContainsSubstring("default-src 'none'"));
  CHECK(client.Get("/config")->body == "[postgres]\n");
  for (const auto* path : {"/", "/metrics", "/readyz", "/status", "/history", "/config"}) {
    CAPTURE(path);
    const auto head = client.Head(path);
    REQUIRE(head);
    CHECK(head->status == client.Get(path)->status);
    CHECK(head->body.empty());
    CHECK(head->get_header_value("Cache-Control") == "no-store");
    CHECK(head->get_header_value("X-Content-Type-Options") == "nosniff");
  }
}

TEST_CASE_METHOD(ServerFixture, "a port in use is refused with the address and a remedy") {
  const AdminServer first("127.0.0.1:0", pages);
  const auto address = "127.0.0.1:" + std::to_string(first.port());
  CHECK_THAT(refusal(address),
             ContainsSubstring("cannot listen on " + address + " for HTTP: Address already in use; give"));
}

TEST_CASE_METHOD(ServerFixture, "an address that is none is refused with an example") {
  for (const auto* listen : {"", "9464", ":9464", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:94x", "127.0.0.1:-1"}) {
    CAPTURE(listen);
    CHECK_THAT(refusal(listen), ContainsSubstring("is not host:port"));
  }
}

TEST_CASE_METHOD(ServerFixture, "a stopped server gives its port back at once") {
  std::string address;
  {
    const AdminServer server("127.0.0.1:0", pages);
    address = "127.0.0.1:" + std::to_string(server.port());
    httplib::Client client("127.0.0.1", server.port());
    REQUIRE(client.Get("/healthz"));
  }
  CHECK(refusal(address).empty());
}

TEST_CASE_METHOD(ServerFixture, "clients that say nothing, or a byte now and then, do not hold up a probe") {
  const AdminServer server("127.0.0.1:0", pages);
  std::vector<TcpClient> slow(8);
  for (auto& client : slow) client.connect("127.0.0.1", server.port());
  httplib::Client client("127.0.0.1", server.port());
  client.set_read_timeout(std::chrono::seconds(4));  // less than the server waits for the silent ones
  for (const char letter : std::string("GET /")) {
    for (std::size_t i = 0; i < slow.size() / 2; ++i) slow[i].send(std::string(1, letter));
    CHECK(client.Get("/healthz"));
  }
}

TEST_CASE_METHOD(ServerFixture, "only GET of the known pages is answered, and nothing that is long") {
  const AdminServer server("127.0.0.1:0", pages);
  httplib::Client client("127.0.0.1", server.port());
  CHECK(client.Post("/status", "{}", "application/json")->status == 404);
  CHECK(client.Put("/", "x", "text/plain")->status == 404);
  CHECK(client.Delete("/metrics")->status == 404);
  CHECK(client.Get("/../../etc/passwd")->status == 404);
  CHECK(client.Get("/" + std::string(20'000, 'a'))->status == 414);
  const auto large = client.Post("/status", std::string(100'000, 'x'), "text/plain");
  CHECK((!large || large->status == 413 || large->status == 404));
  CHECK(client.Get("/healthz")->status == 200);
}

TEST_CASE_METHOD(ServerFixture, "the default address is closed to other machines") {
  const std::string listen = HttpOptions{}.listen;
  CHECK(listen.starts_with("127.0.0.1:"));
  const AdminServer server("127.0.0.1:0", pages);  // the default's host, a port that is free
  CHECK(TcpClient().connect("127.0.0.1", server.port()));
  CHECK_FALSE(TcpClient().connect("127.0.0.2", server.port()));  // this machine by another address
}

}  // namespace walrelay::test
