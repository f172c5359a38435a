#pragma once
// The embedded interpreter of the Python that Torch was found in.
#include <Python.h>
#include <pybind11/embed.h>
#include <torch/csrc/utils/pybind.h>

#include <string>

namespace stepgauge::worker {

/// Starts the interpreter once, imports torch and lets go of the GIL for good: backward() of C++ refuses to run with
/// it.
void ensure_interpreter();

/// Class and first line of a Python error, and of a compiler's error the line of the model.
std::string describe_error(const pybind11::error_already_set& error);

}  // namespace stepgauge::worker
