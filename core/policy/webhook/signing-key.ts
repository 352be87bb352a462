import { createHmac } from 'node:crypto';

/**
 * The signing key of one generation of a webhook policy, 64 lowercase hex digits. The text itself is the HMAC key
 * (its UTF-8 bytes), so that customers can paste it into any HMAC function without decoding it.
 */
export function deriveWebhookKey(webhookMaster: Uint8Array, policyId: string, keyGeneration = 1): string {
  // Generation 1 is left out, as it was before keys could be rotated.
  const context = ['webhook', policyId, ...(keyGeneration === 1 ? [] : [keyGeneration])];
  return createHmac('sha256', webhookMaster).update(JSON.stringify(context)).digest('hex');
}
