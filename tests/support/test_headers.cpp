// Makes the precompiled headers that the tests share: tests/CMakeLists.txt says which.
