import { Mistake, Refused, request } from '../api.js';
import { create } from '../paymaster/create-object.js';
import { draft, keyFor } from './draft.js';
import type { Planned } from './plan.js';

/** Throws the server's objection, if it has one. Creates nothing. */
export async function check({ noun, object, spec, kind }: Planned): Promise<void> {
  try {
    await request(`/manage/v1/${noun}/${object}?dryRun=true`, {
      method: 'PUT',
      // Not a change of one that is there.
      headers: { 'if-none-match': '*' },
      body: { spec },
    });
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.status === 412) {
      const says = `Must be free, and the ${kind.toLowerCase()} “${object}” has it`;
      throw new Mistake('This name is taken.', [{ field: 'name', says }]);
    }
    // Its paymaster is made before it.
    const isOnlyEarly =
      error.faults.length > 0 && error.faults.every(({ field }) => field === 'spec.paymasterRef.name');
    if (!isOnlyEarly) throw error;
  }
}

/** Makes what is not there yet, one after the other. Throws the first error; then it may be called again. */
export async function makeAll(planned: readonly Planned[]): Promise<void> {
  for (const one of planned) {
    if (draft.peek().made.includes(one.step)) continue;
    try {
      await makeOnce(one);
    } catch (error) {
      draft.value = { ...draft.peek(), failure: { step: one.step, error: error as Error } };
      throw error;
    }
    const { failure: _, ...rest } = draft.peek();
    draft.value = { ...rest, made: [...rest.made, one.step] };
  }
}

async function makeOnce(one: Planned): Promise<void> {
  const { noun, object, spec } = one;
  try {
    await create(one, keyFor(JSON.stringify([noun, object, spec])));
  } catch (error) {
    // It was sent before, and its answer is too large to be kept.
    if (!(error instanceof Refused) || error.code !== 'IDEMPOTENCY_REPLAY') throw error;
    await request(`/manage/v1/${noun}/${object}`);
  }
}
