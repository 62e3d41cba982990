# `cmake --install`, and `cpack` for a Debian package. The unit files say /usr/bin and /etc/walrelay, which is where the package
# has them; with another prefix than /usr they need a drop-in.
include(GNUInstallDirs)

# Man page and completions are written by the program.
set(written ${CMAKE_CURRENT_BINARY_DIR}/written)
file(MAKE_DIRECTORY ${written})
set(written_files)
function(walrelay_written file)
  add_custom_command(OUTPUT ${written}/${file} COMMAND walrelay ${ARGN} > ${written}/${file} DEPENDS walrelay VERBATIM)
  set(written_files ${written_files} ${written}/${file} PARENT_SCOPE)
endfunction()
walrelay_written(walrelay.1 config --man)
walrelay_written(walrelay.bash completion bash)
walrelay_written(walrelay.zsh completion zsh)
walrelay_written(walrelay.fish completion fish)
add_custom_command(OUTPUT ${written}/walrelay.1.gz COMMAND gzip -9n < ${written}/walrelay.1 > ${written}/walrelay.1.gz
                   DEPENDS ${written}/walrelay.1 VERBATIM)
add_custom_target(written ALL DEPENDS ${written_files} ${written}/walrelay.1.gz)

install(TARGETS walrelay)
install(FILES ${written}/walrelay.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${written}/walrelay.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME walrelay)
install(FILES ${written}/walrelay.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions RENAME _walrelay)
install(FILES ${written}/walrelay.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES systemd/walrelay.service ${unit_template} DESTINATION lib/systemd/system)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/walrelay RENAME copyright)
# As in the source, so that links between pages lead somewhere.
set(documentation ${CMAKE_INSTALL_DATADIR}/doc/walrelay)
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md ${PROJECT_SOURCE_DIR}/CONTRIBUTING.md
        ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${documentation})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${documentation})
install(FILES ${PROJECT_SOURCE_DIR}/cmake/debian-packages.sh DESTINATION ${documentation}/cmake)
install(DIRECTORY examples prometheus grafana systemd compose helm DESTINATION ${documentation}/deploy)
# Only in the package: /etc is not below the prefix.
install(FILES debian/walrelay.toml DESTINATION /etc/walrelay PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ
        COMPONENT configuration EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME walrelay)
set(CPACK_PACKAGE_CONTACT "The walrelay authors <walrelay@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "transactional outbox from PostgreSQL to Kafka")
set(CPACK_PACKAGE_DESCRIPTION "walrelay reads the rows of an outbox table from PostgreSQL's write-ahead log through a
replication slot, sends them to Kafka, and confirms a position only after the broker has acknowledged it.")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR})
set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};walrelay;ALL;/" "${PROJECT_BINARY_DIR};walrelay;configuration;/")
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/debian/conffiles ${CMAKE_CURRENT_SOURCE_DIR}/debian/postinst
    ${CMAKE_CURRENT_SOURCE_DIR}/debian/prerm)
include(CPack)
