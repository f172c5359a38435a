#pragma once

namespace stepgauge::cli {

/// Turns SIGINT and SIGTERM into a readable file descriptor while it lives, so that a launch can be ended in order. One
/// at a time.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  int fd() const;  ///< readable once interrupted
  bool interrupted() const;
};

}  // namespace stepgauge::cli
