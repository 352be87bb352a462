import { pause } from '../../adapters/timers.js';
import { derivePaymasterId, derivePolicyId } from '../../core/config/ids.js';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import type { Tenant } from '../../core/config/tenant.js';
import { readParts } from '../../core/policy/derived.js';
import type { ConfigStore } from '../../core/config/config-store.js';
import { unlessUnavailable } from '../../core/errors.js';
import type { Kind, Resources } from '../../core/resources/kinds.js';
import { objectKey } from '../../core/meta/meta.js';
import type { ResourceStore } from '../../core/resources/resource-store.js';
import { integer } from '../../core/settings.js';

export const programmedSettings = {
  programmedSeconds: integer(
    'PAYMASTER_DASHBOARD_PROGRAMMED_SECONDS',
    'How long a write waits to be served before it answers.',
    { min: 0, max: 60 },
    2,
  ),
};

/**
 * Waits until the operator has compiled a written change and stored it for the servers. In one process the next sponsorship sees it;
 * replicas elsewhere watch the store, and follow within a second. Answers false when the time is over, or at once when the operator has refused the resource. A write never fails because of this.
 */
export type ProgrammedWait = ReturnType<typeof createProgrammedWait>;

type ProgrammedDeps = {
  readonly resources: Pick<ResourceStore, 'get'>;
  readonly configs: Pick<ConfigStore, 'getPaymaster'>;
  /** 0 asks once and does not wait. */
  readonly timeoutMs: number;
};

export function createProgrammedWait({ resources, configs, timeoutMs }: ProgrammedDeps) {
  return {
    /** True once the operator says `Programmed` for this generation of the object, or a later one. */
    written: <K extends Kind>(kind: K, object: Resources[K]): Promise<boolean> =>
      poll(timeoutMs, async () => {
        const present = await resources.get(kind, objectKey(object));
        return present ? verdict(present, object.metadata.generation) : false;
      }),

    /** True once the stored config has nothing of the object. */
    deleted: (tenant: Tenant, object: Deleted) =>
      poll(timeoutMs, async () => {
        const paymaster = object.kind === 'Paymaster' ? object.metadata.name : object.spec.paymasterRef.name;
        const config = (await configs.getPaymaster(derivePaymasterId(tenant, paymaster)))?.config;
        return config !== undefined && serves(config, tenant, object) ? undefined : true;
      }),
  };
}

/** A paymaster is known by its name alone. */
type Deleted =
  | Resources['SmartContract' | 'PaymasterPolicy']
  | { readonly kind: 'Paymaster'; readonly metadata: { readonly name: string } };

function serves(config: PaymasterConfig, tenant: Tenant, object: Deleted): boolean {
  if (object.kind === 'Paymaster') return true;
  const { kind, metadata, spec } = object;
  if (kind === 'SmartContract')
    return config.contracts.some(({ address }) => address.toLowerCase() === spec.address.toLowerCase());
  const policyId = derivePolicyId(tenant, metadata.name);
  return readParts(config, { policyId, name: spec.name }) !== undefined;
}

/** Undefined until the operator has processed this generation. */
function verdict(object: Resources[Kind], generation: number): boolean | undefined {
  const condition = object.status?.conditions?.find(({ type }) => type === 'Programmed');
  if (!condition || condition.observedGeneration < generation) return undefined;
  return condition.status === 'Unknown' ? undefined : condition.status === 'True';
}

/** Asks at growing intervals. Uses the process's own time, since an injected clock does not move while a request waits. */
async function poll(timeoutMs: number, ask: () => Promise<boolean | undefined>): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  for (let pauseMs = 5; ; pauseMs = Math.min(pauseMs * 1.5, 200)) {
    // The write has already succeeded: a store that goes down now must not turn it into an error.
    const answer = await unlessUnavailable(ask());
    if (answer !== undefined) return answer;
    const leftMs = deadline - performance.now();
    if (leftMs <= 0) return false;
    await pause(Math.min(pauseMs, leftMs));
  }
}
