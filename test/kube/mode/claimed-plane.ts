import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isStatus } from '../../../adapters/kube/api-error.js';
import { createStops } from '../../../adapters/process/stops.js';
import { kubeconfigText } from '../../support/cluster/kubeconfig.js';
import { connectionOfThisRun } from './connection.js';
import { startInstalledPlane, transportOf, type PlaneAddress } from './installed-plane.js';
import { deleteUserResources, ensureNamespace } from './system-namespace.js';

/** The API server of this run, for one test file: resources of users, of whatever file, are gone when it begins. */
export type ClaimedPlane = Readonly<Awaited<ReturnType<typeof claimPlane>>>;

/** With these namespaces, which the file shares with nobody or needs to be there. They stay: nothing here removes a namespace. */
export async function claimPlane(namespaces: readonly string[]) {
  const connection = connectionOfThisRun();
  if (connection === undefined) throw new Error('start jest with --config=jest.kubernetes.config.js');
  const stops = createStops();
  try {
    const plane = await claim(connection.plane, stops.add);
    const transport = transportOf(plane, 'admin');
    stops.add(() => transport.stop());
    await deleteUserResources(transport);
    for (const name of namespaces) await ensureNamespace(transport, name);
    const folder = mkdtempSync(join(tmpdir(), 'claimed-plane-'));
    stops.add(async () => rmSync(folder, { recursive: true, force: true }));
    const kubeconfig = (name: string, token: string): string => {
      const file = join(folder, `kubeconfig-${name}`);
      writeFileSync(file, kubeconfigText({ ...plane, token }), { mode: 0o600 });
      return file;
    };
    const ofAdmin = kubeconfig('admin', plane.tokens.admin);
    return {
      /** Access as administrator. */
      transport,
      /** File of the administrator. */
      kubeconfig: ofAdmin,
      /** Folder of `kubectl`. */
      assets: plane.assets,
      kubectl: (args: readonly string[], input?: string): string =>
        execFileSync(join(plane.assets, 'kubectl'), [`--kubeconfig=${ofAdmin}`, ...args], {
          encoding: 'utf8',
          stdio: 'pipe',
          timeout: 240_000,
          ...(input === undefined ? {} : { input }),
        }),
      /** File of a new ServiceAccount, which has no rights yet. */
      async kubeconfigOfAccount(namespace: string, name: string): Promise<string> {
        const path = `/api/v1/namespaces/${namespace}/serviceaccounts`;
        await transport.request({
          method: 'POST',
          path,
          body: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } },
        });
        const { status } = (await transport.request({
          method: 'POST',
          path: `${path}/${name}/token`,
          body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: [] } },
        })) as { readonly status: { readonly token: string } };
        return kubeconfig(name, status.token);
      },
      stop: stops.run,
    };
  } catch (error) {
    await stops.run();
    throw error;
  }
}

const claimPath = '/api/v1/namespaces/default/configmaps';
const claimName = 'claimed';

/**
 * Reserves the API server of the run until the stop; while another world of the same file has it, starts another one. Organisations and chains
 * are cluster-scoped, so two worlds cannot share it.
 */
export async function claim(
  plane: PlaneAddress,
  onStop: (stop: () => Promise<void>) => void,
): Promise<PlaneAddress> {
  const admin = transportOf(plane, 'admin');
  onStop(() => admin.stop());
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: claimName } };
  try {
    await admin.request({ method: 'POST', path: claimPath, body });
  } catch (error) {
    if (!isStatus(error, 409)) throw error;
    const another = await startInstalledPlane();
    onStop(() => another.stop());
    return another.address;
  }
  onStop(async () => {
    await admin.request({ method: 'DELETE', path: `${claimPath}/${claimName}` });
  });
  return plane;
}
