// Timing of MuJoCo's tree dynamics and steps in a compiled loop. mjModel and mjData of the Python bindings are passed by address.
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

// Time of n runs of a task [s]. full_pipeline: MuJoCo's own entry point, else only the stages that the task needs.
extern "C" __attribute__((visibility("default"))) double mujoco_run(std::uintptr_t model, std::uintptr_t data, int task,
                                                                   int full_pipeline, long n) {
  const auto* m = reinterpret_cast<const mjModel*>(model);
  auto* d = reinterpret_cast<mjData*>(data);
  using Run = void (*)(const mjModel*, mjData*);
  Run run = mj_step;
  if (task == INVERSE) run = full_pipeline ? mj_inverse : inverse;
  if (task == MASS) run = full_pipeline ? mj_fwdPosition : mass;
  if (task == FORWARD) run = full_pipeline ? mj_forward : forward;
  const auto start = std::chrono::steady_clock::now();
  for (long i = 0; i < n; ++i) run(m, d);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
