// MuJoCo in a compiled loop. Model and data are those of the Python bindings, by address.
#include <mujoco/mujoco.h>

#include <chrono>
#include <cstdint>

namespace {

enum Task { INVERSE, MASS, FORWARD, STEP };

void inverse(const mjModel* m, mjData* d) {
  mj_kinematics(m, d);
  mj_comPos(m, d);
  mj_comVel(m, d);
  mj_rne(m, d, 1, d->qfrc_inverse);
}

void mass(const mjModel* m, mjData* d) {
  mj_kinematics(m, d);
  mj_comPos(m, d);
  mj_makeM(m, d);
}

void forward(const mjModel* m, mjData* d) {
  mass(m, d);
  mj_factorM(m, d);
  mj_comVel(m, d);
  mj_rne(m, d, 0, d->qfrc_bias);
  for (int i = 0; i < m->nv; ++i) d->qfrc_smooth[i] = d->qfrc_applied[i] - d->qfrc_bias[i];
  mj_solveM(m, d, d->qacc, d->qfrc_smooth, 1);
}

}  // namespace

// Seconds of n runs of a task; whole: by MuJoCo's own pipeline, else by the stages the task cannot do without.
extern "C" __attribute__((visibility("default"))) double mujoco_run(std::uintptr_t model, std::uintptr_t data, int task, int whole, long n) {
  const auto* m = reinterpret_cast<const mjModel*>(model);
  auto* d = reinterpret_cast<mjData*>(data);
  using Run = void (*)(const mjModel*, mjData*);
  Run run = mj_step;
  if (task == INVERSE) run = whole ? mj_inverse : inverse;
  if (task == MASS) run = whole ? mj_fwdPosition : mass;
  if (task == FORWARD) run = whole ? mj_forward : forward;
  const auto start = std::chrono::steady_clock::now();
  for (long i = 0; i < n; ++i) run(m, d);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
