import { deriveApiKey } from '../../core/config/api-key.js';
import type { CompiledPaymaster } from '../../core/config/compile.js';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import { toTenant } from '../../core/config/tenant.js';
import { isDomainError, unreachable } from '../../core/errors.js';
import type { Logger } from '../../core/log.js';
import { finding, findCondition, type Finding } from '../../core/meta/conditions.js';
import { deriveWebhookKey } from '../../core/policy/webhook/signing-key.js';
import type { Paymaster } from '../../core/resources/paymaster.js';
import type { ConnectionSecrets, MasterKeys } from '../../core/secrets.js';
import { organisationLabel } from '../../core/tenant-access.js';
import type { Cache } from '../cache.js';

/** Writes the Secret that `writeConnectionSecretToRef` names; undefined when it names none. */
export type ConnectionSecretWriter = ReturnType<typeof createConnectionSecretWriter>;

export function createConnectionSecretWriter(deps: {
  readonly secrets: ConnectionSecrets;
  readonly masterKeys: MasterKeys;
  readonly rpcUrlOf: (config: PaymasterConfig, apiKey: string) => string;
  readonly log: Logger;
}) {
  return {
    async write(paymaster: Paymaster, compiled: CompiledPaymaster): Promise<Finding | undefined> {
      const { metadata, spec } = paymaster;
      if (spec.writeConnectionSecretToRef === undefined) return undefined;
      const name = spec.writeConnectionSecretToRef.name;
      const { namespace = '' } = metadata;
      try {
        const outcome = await deps.secrets.write({
          namespace,
          name,
          owner: { name: metadata.name, uid: metadata.uid },
          data: connectionData(paymaster, compiled),
        });
        switch (outcome) {
          case 'written':
          case 'unchanged':
            return finding('ConnectionSecret', 'Written');
          case 'not-ours':
            return finding(
              'ConnectionSecret',
              'NotOurs',
              `Secret "${name}" belongs to somebody else: name another one.`,
            );
          case 'denied':
            return finding(
              'ConnectionSecret',
              'NotAllowed',
              `The operator may not write Secrets in namespace "${namespace}". The platform allows it by an Organisation of that namespace and a label: kubectl label namespace ${namespace} ${organisationLabel}`,
            );
          default:
            return unreachable(outcome);
        }
      } catch (error) {
        // An outage or a conflict is retried with the whole reconcile; any other error must not keep the status from
        // being written.
        if (isDomainError(error, 'UNAVAILABLE') || isDomainError(error, 'WRITE_CONFLICT')) throw error;
        deps.log.error('writing a connection secret failed', { paymaster: metadata.name, error });
        return finding(
          'ConnectionSecret',
          'WriteFailed',
          `Secret "${name}" could not be written: see the log.`,
        );
      }
    },
  };

  function connectionData(
    { metadata, spec }: Paymaster,
    { config, policies, status }: CompiledPaymaster,
  ): Record<string, string> {
    const apiKey = deriveApiKey(deps.masterKeys.current, {
      namespace: toTenant(config.namespace, status.tenantGeneration),
      name: metadata.name,
      keyGeneration: status.keyGeneration ?? spec.keyGeneration ?? 1,
    });
    const webhooks = policies.filter(({ object }) => object.spec.policyType === 'WEBHOOK');
    const keys = webhooks.map(({ object, policyId, keyGeneration }) => ({
      name: object.metadata.name,
      key: deriveWebhookKey(deps.masterKeys.webhook, policyId, keyGeneration),
    }));
    const [first] = keys;
    return {
      apiKey,
      rpcUrl: deps.rpcUrlOf(config, apiKey),
      paymasterId: config.paymasterId,
      chainId: String(config.chainId),
      // The key of the oldest webhook policy: each policy has a separate key, and most paymasters have one policy.
      ...(first === undefined ? {} : { webhookKey: first.key }),
      ...Object.fromEntries(keys.map(({ name, key }) => [`webhookKey.${name}`, key])),
    };
  }
}

/** After how long its Secret is written again; empty for a Paymaster that names no Secret. */
export function secretWaits(
  cache: Pick<Cache, 'countSecrets'>,
  { status }: Paymaster,
  stored: CompiledPaymaster,
  secret: Finding | undefined,
): readonly number[] {
  if (secret === undefined) return [];
  const before = findCondition(status?.conditions, 'ConnectionSecret');
  const isNewFailure = secret.status === 'False' && before?.status !== 'False';
  return [isNewFailure ? firstSecretRetryMs : secretCheckMs(cache, stored)];
}

/** Access is still being granted when the Organisation is as new as the Paymaster. */
const firstSecretRetryMs = 3_000;

/**
 * The operator may not read Secrets, so it writes each again and again: one that somebody deleted or changed comes back, and one
 * that it may write by now is written. Within 25 seconds while there are few, about one a second of hundreds, and each within ten
 * minutes. The times are spread by id, so that thousands do not come at once.
 */
function secretCheckMs(cache: Pick<Cache, 'countSecrets'>, { config }: CompiledPaymaster): number {
  const spread = Number.parseInt(config.paymasterId.slice(-4), 16) / 0xffff;
  const maxMs = Math.min(Math.max(cache.countSecrets() * 1_000, 25_000), 600_000);
  return (maxMs / 2) * (1 + spread);
}
