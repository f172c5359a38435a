#pragma once
#include <sys/prctl.h>

namespace stepgauge::launch {

/// Makes this process the one that orphaned descendants fall to; undone at the end.
class SubreaperGuard {
 public:
  SubreaperGuard() noexcept {
    ::prctl(PR_GET_CHILD_SUBREAPER, &before_);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  ~SubreaperGuard() { ::prctl(PR_SET_CHILD_SUBREAPER, before_); }
  SubreaperGuard(const SubreaperGuard&) = delete;
  SubreaperGuard& operator=(const SubreaperGuard&) = delete;

 private:
  int before_ = 0;
};

}  // namespace stepgauge::launch
