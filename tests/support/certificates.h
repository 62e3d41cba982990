#pragma once
// An authority and what it signs, made by the program openssl for one test.

#include <string>

#include "tests/support/temp_dir.h"

namespace walrelay::test {

// A certificate and its private key. Everybody may read the files: servers run as another user.
struct Certificate {
  std::string file;  // PEM
  std::string key;   // PEM, PKCS #8
};

class CertificateAuthority {
 public:
  CertificateAuthority();

  // The authority's own certificate, for sslrootcert and ssl.ca.location.
  [[nodiscard]] const std::string& root() const { return root_.file; }
  // For one DNS name or IPv4 address. Errors: std::runtime_error with what openssl said.
  [[nodiscard]] Certificate sign(const std::string& name) const;
  // The key, encrypted with a password.
  [[nodiscard]] std::string encrypt(const Certificate& certificate, const std::string& password) const;

 private:
  TempDir directory_;
  Certificate root_;
};

}  // namespace walrelay::test
