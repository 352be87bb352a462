import { join } from 'node:path';
import type { ControlPlane } from '../../support/cluster/control-plane.js';
import { repositoryRoot } from '../../support/repository-root.js';

/** Installs our kinds and waits until the server serves them. */
export function installCrds(plane: ControlPlane): void {
  plane.kubectl(['apply', '--server-side', '-f', join(repositoryRoot, 'crds')]);
  plane.kubectl(['wait', '--for=condition=Established', '--timeout=240s', 'crd', '--all']);
}
