# The relay against a simulated server, broker and clock: crash anywhere, break anything, and nothing is lost.
# WALRELAY_SIM_SEEDS: how many seeds; WALRELAY_SIM_FIRST: the first of them, to replay one.
add_library(sim_world OBJECT sim/sim_broker.cpp sim/sim_server.cpp sim/sim_world.cpp)
walrelay_options(sim_world)
target_link_libraries(sim_world PUBLIC connector)

# They compute for as long as others wait: COST starts them first.
walrelay_test(sim_tests sim TIMEOUT 600 PROPERTIES COST 1000 SOURCES sim/relay_sim.cpp $<TARGET_OBJECTS:sim_world> LIBRARIES connector)

# Deliberate faults that the simulation has to catch, each in a program of its own: the mutated object is linked before
# the library that has the right one. Once is enough: not under sanitizers.
if(WALRELAY_SANITIZE)
  return()
endif()

add_library(sim_seeds_main OBJECT sim/sim_seeds.cpp)
walrelay_options(sim_seeds_main)
target_link_libraries(sim_seeds_main PRIVATE connector)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(mutants_script ${CMAKE_CURRENT_SOURCE_DIR}/sim/mutants.py)

function(walrelay_mutant name file)
  set(mutated ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name}/${file})
  add_custom_command(OUTPUT ${mutated}
    COMMAND Python3::Interpreter ${mutants_script} make ${name} ${PROJECT_SOURCE_DIR} ${mutated}
    DEPENDS ${mutants_script} ${PROJECT_SOURCE_DIR}/${file} VERBATIM)
  add_executable(mutant_${name} ${mutated} $<TARGET_OBJECTS:sim_world> $<TARGET_OBJECTS:sim_seeds_main>)
  walrelay_options(mutant_${name})
  target_compile_options(mutant_${name} PRIVATE -w -O1 -g0)
  target_link_libraries(mutant_${name} PRIVATE connector)
  add_test(NAME "sim: the mutant ${name} is caught"
           COMMAND Python3::Interpreter ${mutants_script} catch $<TARGET_FILE:mutant_${name}>)
  set_tests_properties("sim: the mutant ${name} is caught" PROPERTIES LABELS sim TIMEOUT 300)
  add_dependencies(all_sim_tests mutant_${name})
endfunction()

walrelay_mutant(confirm_at_submit connector/ack_frontier.cpp)
walrelay_mutant(confirm_out_of_order connector/ack_frontier.cpp)
walrelay_mutant(keepalive_in_flight connector/ack_frontier.cpp)
walrelay_mutant(forget_empty_transaction connector/ack_frontier.cpp)
walrelay_mutant(late_report_of_a_dead_relay connector/relay.cpp)
walrelay_mutant(count_again_after_reconnect connector/relay.cpp)
walrelay_mutant(doubt_is_delivery connector/relay.cpp)
walrelay_mutant(publish_what_is_covered connector/relay.cpp)
walrelay_mutant(pass_over_another_history connector/relay.cpp)
walrelay_mutant(confirm_unrecorded connector/relay.cpp)
walrelay_mutant(confirm_before_written connector/write_back_queue.cpp)
walrelay_mutant(forget_covered_rows connector/relay.cpp)
walrelay_mutant(mark_what_failed connector/write_back_queue.cpp)
