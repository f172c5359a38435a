# Imported targets over an installed Torch, without find_package(Torch): that one needs a CUDA toolkit to configure and guesses
# architectures. Looks for a Python that has Torch: -DSTEPGAUGE_PYTHON, then .venv, then python3 on PATH.
#   torch_stack::cpu     libtorch_cpu, libc10 and the C++ headers
#   torch_stack::cuda    libtorch_cuda, libc10_cuda, CUDA runtime and NCCL headers (only where all of them are)
#   torch_stack::python  libtorch_python and an embeddable libpython (only where both are)
foreach(candidate "${STEPGAUGE_PYTHON}" "${CMAKE_SOURCE_DIR}/.venv/bin/python" python3)
  if(NOT candidate)
    continue()
  endif()
  execute_process(COMMAND ${candidate} ${CMAKE_CURRENT_LIST_DIR}/describe_torch.py
    OUTPUT_VARIABLE torch_facts ERROR_QUIET RESULT_VARIABLE rc OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(rc EQUAL 0)
    set(STEPGAUGE_TORCH_PYTHON ${candidate})
    break()
  endif()
endforeach()
if(NOT STEPGAUGE_TORCH_PYTHON)
  message(STATUS "stepgauge: no Python with Torch found (./scripts/setup brings one): stepgauge-worker is not built")
  return()
endif()
foreach(key executable torch_dir torch_version cxx11_abi nvidia_dirs cuda_include nccl_include cudart python_include libpython)
  string(JSON TORCH_STACK_${key} GET "${torch_facts}" ${key})
endforeach()
message(STATUS "stepgauge: Torch ${TORCH_STACK_torch_version} in ${TORCH_STACK_torch_dir}")

set(lib ${TORCH_STACK_torch_dir}/lib)
add_library(torch_stack::cpu INTERFACE IMPORTED GLOBAL)
target_include_directories(torch_stack::cpu SYSTEM INTERFACE
  ${TORCH_STACK_torch_dir}/include ${TORCH_STACK_torch_dir}/include/torch/csrc/api/include)
target_compile_definitions(torch_stack::cpu INTERFACE _GLIBCXX_USE_CXX11_ABI=${TORCH_STACK_cxx11_abi} USE_DISTRIBUTED)
target_link_options(torch_stack::cpu INTERFACE "-Wl,-rpath,${lib}" "-Wl,--allow-shlib-undefined")
target_link_libraries(torch_stack::cpu INTERFACE ${lib}/libtorch_cpu.so ${lib}/libc10.so Threads::Threads)

# Torch's libraries use the shared libstdc++; a program with a static one of its own beside it frees what the other made.
# A compiler without a libstdc++.so silently takes the static one, so the shared one is named.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libstdc++.so OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT IS_ABSOLUTE "${found}")
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libstdc++.so.6 OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT IS_ABSOLUTE "${found}")
      message(FATAL_ERROR "stepgauge: ${CMAKE_CXX_COMPILER} has no shared libstdc++, which Torch needs; "
                          "choose another compiler with CXX=/path/to/g++ or -DCMAKE_CXX_COMPILER")
    endif()
    message(STATUS "stepgauge: the compiler has no libstdc++.so, linking ${found}")
    target_link_libraries(torch_stack::cpu INTERFACE ${found})
  endif()
endif()

if(TORCH_STACK_cuda_include AND TORCH_STACK_nccl_include AND TORCH_STACK_cudart AND EXISTS ${lib}/libtorch_cuda.so)
  add_library(torch_stack::cuda INTERFACE IMPORTED GLOBAL)
  target_include_directories(torch_stack::cuda SYSTEM INTERFACE ${TORCH_STACK_cuda_include} ${TORCH_STACK_nccl_include})
  target_compile_definitions(torch_stack::cuda INTERFACE USE_C10D_NCCL)
  target_link_libraries(torch_stack::cuda INTERFACE torch_stack::cpu
    "-Wl,--no-as-needed" ${lib}/libtorch_cuda.so ${lib}/libc10_cuda.so ${TORCH_STACK_cudart} "-Wl,--as-needed" ${CMAKE_DL_LIBS})
  message(STATUS "stepgauge: CUDA headers in ${TORCH_STACK_cuda_include}, NCCL headers in ${TORCH_STACK_nccl_include}")
else()
  message(STATUS "stepgauge: no CUDA toolkit or NCCL headers: CPU-only worker")
endif()

if(TORCH_STACK_libpython AND TORCH_STACK_python_include)
  add_library(torch_stack::python INTERFACE IMPORTED GLOBAL)
  target_include_directories(torch_stack::python SYSTEM INTERFACE ${TORCH_STACK_python_include})
  target_link_libraries(torch_stack::python INTERFACE torch_stack::cpu ${lib}/libtorch_python.so ${TORCH_STACK_libpython})
else()
  message(STATUS "stepgauge: no embeddable Python: CPU cells of two or more ranks are unsupported")
endif()
