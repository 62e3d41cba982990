# The relay against a simulated server, broker and clock: crash anywhere, break anything, and nothing is lost.
# WALRELAY_SIM_SEEDS: how many seeds; WALRELAY_SIM_FIRST: the first of them, to replay one.
walrelay_test(sim_tests sim TIMEOUT 600
  SOURCES
    sim/relay_sim.cpp
    sim/sim_broker.cpp
    sim/sim_server.cpp
    sim/sim_world.cpp
  LIBRARIES connector
)
