import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { ControlPlane } from '../../support/cluster/control-plane.js';

export type KubectlRun = { readonly ok: boolean; readonly stdout: string; readonly stderr: string };

/** kubectl as the administrator, or as somebody else with `--as=…`. Never throws for a failing command. */
export function kubectl(cluster: ControlPlane, args: readonly string[], input = ''): KubectlRun {
  const run = spawnSync(
    join(cluster.assets, 'kubectl'),
    [`--kubeconfig=${cluster.kubeconfig('admin')}`, ...args],
    { encoding: 'utf8', input, timeout: 240_000, maxBuffer: 32 * 1024 * 1024 },
  );
  return { ok: run.status === 0, stdout: run.stdout, stderr: run.stderr };
}

/** The same, but a failing command throws its output as the error. */
export function mustKubectl(cluster: ControlPlane, args: readonly string[], input = ''): string {
  const run = kubectl(cluster, args, input);
  if (!run.ok) throw new Error(`kubectl ${args.join(' ')}: ${run.stderr}`);
  return run.stdout;
}

export const serviceAccount = (namespace: string, name: string): string =>
  `system:serviceaccount:${namespace}:${name}`;
