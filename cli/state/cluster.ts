import { createCredentialSource } from '../../adapters/kube/credentials.js';
import { createKubeTransport, type KubeTransport } from '../../adapters/kube/transport.js';
import { DomainError, errorMessage } from '../../core/errors.js';
import { silentLogger } from '../../core/log.js';
import { noMetrics } from '../../core/metrics.js';
import { systemClock } from '../../core/units/time.js';

export type Cluster = { readonly kubeconfig: string; readonly context?: string };

/** Throws INVALID_INPUT for a kubeconfig that is wrong. */
export async function withCluster<T>(
  { kubeconfig: file, context }: Cluster,
  work: (transport: KubeTransport) => Promise<T>,
): Promise<T> {
  const access = { from: 'kubeconfig', file, ...(context === undefined ? {} : { context }) } as const;
  const credentials = createCredentialSource(access, systemClock);
  // What is wrong with the file is wrong usage; what comes later is the cluster's.
  await credentials.load(false).catch((cause: unknown) => {
    throw new DomainError('INVALID_INPUT', `${file}: ${errorMessage(cause)}`, { cause });
  });
  const transport = createKubeTransport({
    credentials,
    userAgent: 'paymaster',
    log: silentLogger,
    metrics: noMetrics,
  });
  try {
    return await work(transport);
  } finally {
    await transport.stop();
  }
}
