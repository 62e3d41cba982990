#include <httplib.h>

#include <string>
#include <thread>

#include "connector/observe/admin_server.h"
#include "tests/support/catch.h"
#include "tests/support/set_clock.h"

namespace walrelay::test {
namespace {

struct Fixture {
  SetClock clock;
  RelayMetrics metrics{1};
  StatusBoard board{clock.wall()};
  AdminPages pages{{"1.2.3", "orders", {"public.outbox"}, "kafka"}, metrics, board, clock};

  std::string refusal(const std::string& listen) const {
    try {
      const AdminServer server(listen, pages);
      return "";
    } catch (const AdminServerError& error) {
      return error.what();
    }
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "port 0 takes a free port and serves every page on it") {
  const AdminServer server("127.0.0.1:0", pages);
  REQUIRE(server.port() > 0);
  httplib::Client client("127.0.0.1", server.port());
  for (const auto* path : {"/", "/metrics", "/healthz", "/status"}) {
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

TEST_CASE_METHOD(Fixture, "a port in use is refused with the address and a remedy") {
  const AdminServer first("127.0.0.1:0", pages);
  const auto address = "127.0.0.1:" + std::to_string(first.port());
  CHECK_THAT(refusal(address),
             ContainsSubstring("cannot listen on " + address + " for HTTP: Address already in use; give"));
}

TEST_CASE_METHOD(Fixture, "an address that is none is refused with an example") {
  for (const auto* listen : {"", "9464", ":9464", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:94x", "127.0.0.1:-1"}) {
    CAPTURE(listen);
    CHECK_THAT(refusal(listen), ContainsSubstring("is not host:port"));
  }
}

TEST_CASE_METHOD(Fixture, "a stopped server gives its port back at once") {
  std::string address;
  {
    const AdminServer server("127.0.0.1:0", pages);
    address = "127.0.0.1:" + std::to_string(server.port());
    httplib::Client client("127.0.0.1", server.port());
    REQUIRE(client.Get("/healthz"));
  }
  CHECK(refusal(address).empty());
}

TEST_CASE_METHOD(Fixture, "a client that says nothing does not hold up a probe") {
  const AdminServer server("127.0.0.1:0", pages);
  const int silent = ::socket(AF_INET, SOCK_STREAM, 0);
  REQUIRE(silent >= 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(server.port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::connect(silent, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  httplib::Client client("127.0.0.1", server.port());
  client.set_read_timeout(std::chrono::seconds(4));  // less than the server waits for the silent one
  CHECK(client.Get("/healthz"));
  ::close(silent);
}

}  // namespace walrelay::test
