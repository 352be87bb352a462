import { invalidInput, quote } from '../../core/errors.js';
import type { PolicyHosts, HostOutcome } from '../../core/policy/policy-hosts.js';
import type { WebhookConfig } from '../../core/policy/webhook/schema.js';
import { isObject } from '../../core/schema/json-value.js';
import { zeroAddress } from '../../core/units/address.js';
import { requireObject } from './json.js';
import { requireRoom, type RateLimiter } from './rate-limit.js';

/** What a host is sent when its owner tries it. */
export type Sample = { readonly webhookData: unknown; readonly userOp: Readonly<Record<string, unknown>> };

/** Each delivery calls somebody's host; this is enough to try things out. */
export const deliveriesAtOnce = { requests: 10, perSeconds: 10 } as const;

/** Throws RATE_LIMITED after too many deliveries of one organisation. */
export function takeDelivery(deliveries: RateLimiter, organisation: string): void {
  const retryAfterSeconds = deliveries.take(organisation, deliveriesAtOnce);
  requireRoom(retryAfterSeconds, 'The organisation has sent too many test deliveries');
}

/** An operation that calls nothing, with every field that a host may look at. */
export const sampleOperation: Sample['userOp'] = {
  sender: zeroAddress,
  nonce: '0x0',
  initCode: '0x',
  callData: '0x',
  callGasLimit: '0x186a0',
  verificationGasLimit: '0x249f0',
  preVerificationGas: '0xea60',
  maxFeePerGas: '0x77359400',
  maxPriorityFeePerGas: '0x3b9aca00',
  paymasterAndData: '0x',
  signature: '0x',
};

/** All members are optional, and so is the body. Throws INVALID_INPUT. */
export function parseSample(body: unknown = {}): Sample {
  const { webhookData = {}, userOp = sampleOperation } = requireObject(body);
  if (!isObject(userOp)) throw invalidInput({ field: 'userOp', expected: 'an object', value: quote(userOp) });
  return { webhookData, userOp };
}

/**
 * Calls the host of one policy with the same request as a sponsorship, marked and signed as a test, so that it cannot stand for an
 * operation. Nothing is sponsored by the answer, and nothing of its body is shown but a reason that was cleaned: otherwise a delivery
 * would read what the URL names.
 */
export async function deliverTest(
  webhooks: Pick<PolicyHosts, 'call'>,
  webhook: WebhookConfig,
  { webhookData, userOp }: Sample,
  caller: { readonly paymasterId: string; readonly organisation: string; readonly requestId: string },
) {
  const startedAt = performance.now();
  const [outcome = {}]: readonly Partial<HostOutcome>[] = await webhooks.call({
    ...caller,
    policies: [webhook],
    data: webhookData,
    userOp,
    isTest: true,
  });
  return {
    ...outcome,
    /** Whether the policy would let a request with this answer pass. */
    wouldPass: outcome.verdict === 'verified' || isForgiven(webhook, outcome.verdict),
    durationMs: Math.round(performance.now() - startedAt),
    requestId: caller.requestId,
  };
}

function isForgiven({ onError }: WebhookConfig, verdict: string | undefined): boolean {
  return verdict === 'failed' && onError === 'Allow';
}
