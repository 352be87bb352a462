import type { TakenStep } from '../../core/usage/usage-store.js';

/** JSON; amounts of wei and nonces are decimal texts. */
export function formatStep(step: TakenStep): string {
  return JSON.stringify(step, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
}

const bigMembers = new Set(['nonce', 'prefundWei']);

/** Expects text that {@link formatStep} has written. */
export function parseStep(text: string): TakenStep {
  return JSON.parse(text, (name, value: unknown) =>
    bigMembers.has(name) && typeof value === 'string' ? BigInt(value) : value,
  ) as TakenStep;
}
