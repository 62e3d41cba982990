#include "tests/support/certificates.h"

#include <fmt/format.h>

#include <stdexcept>
#include <vector>

#include "tests/support/process.h"

namespace walrelay::test {
namespace {

void openssl(std::vector<std::string> arguments) {
  const auto result = run_command("openssl", std::move(arguments));
  if (result.status != 0) throw std::runtime_error("openssl: " + result.errors);
}

std::vector<std::string> new_certificate(const std::string& subject, const Certificate& made) {
  return {"req",     "-x509",   "-newkey", "ec",    "-pkeyopt", "ec_paramgen_curve:prime256v1",
          "-nodes",  "-days",   "2",       "-subj", subject,    "-out",
          made.file, "-keyout", made.key};
}

}  // namespace

CertificateAuthority::CertificateAuthority() : root_{directory_.file("root.crt"), directory_.file("root.key")} {
  openssl(new_certificate("/CN=walrelay test authority", root_));
}

Certificate CertificateAuthority::sign(const std::string& name) const {
  const Certificate made{directory_.file(name + ".crt"), directory_.file(name + ".key")};
  const auto* kind = name.find_first_not_of("0123456789.") == std::string::npos ? "IP" : "DNS";
  auto arguments = new_certificate("/CN=" + name, made);
  arguments.insert(arguments.end(),
                   {"-CA", root_.file, "-CAkey", root_.key, "-addext", "basicConstraints=critical,CA:FALSE", "-addext",
                    fmt::format("subjectAltName={}:{}", kind, name)});
  openssl(arguments);
  std::filesystem::permissions(made.key, std::filesystem::perms(0644));
  return made;
}

std::string CertificateAuthority::encrypt(const Certificate& certificate, const std::string& password) const {
  const std::string encrypted = certificate.key + ".encrypted";
  openssl({"pkcs8", "-topk8", "-in", certificate.key, "-out", encrypted, "-passout", "pass:" + password});
  return encrypted;
}

}  // namespace walrelay::test
