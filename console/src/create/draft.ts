import { effect, signal } from '@preact/signals';
import { Mistake, Refused, request, session } from '../api.js';
import type { Values } from '../parts/form-facts.js';
import { create, type NewObject, objectName } from '../paymaster/create-object.js';
import { limitWords } from '../paymaster/limit-words.js';
import { composeLimit } from '../paymaster/limit.js';
import { composeContract } from '../paymaster/new-contract.js';
import { composeRule } from '../paymaster/rule-form.js';
import type { Policy } from '../records.js';

// A paymaster that somebody is about to create. It is in this page alone, so that the browser keeps nothing of it, and it stays while he
// looks at other pages.

/** In the order in which they are asked. */
export const stepNames = ['chain', 'contract', 'limit', 'webhook'] as const;
export type StepName = (typeof stepNames)[number];

type Draft = {
  readonly values: Readonly<Partial<Record<StepName, Values>>>;
  /** Steps that were left by their button, and not changed since. */
  readonly done: readonly StepName[];
  /** Steps whose object exists. */
  readonly made: readonly StepName[];
  /** Why the object of a step was not made. */
  readonly failure?: { readonly step: StepName; readonly error: Error };
  /** What was sent, and with which Idempotency-Key: after an answer that was lost it is sent again with it. */
  readonly keys: ReadonlyMap<string, string>;
};

const empty: Draft = { values: {}, done: [], made: [], keys: new Map() };

export const draft = signal(empty);

/** The paymaster that this page has created last. */
export const created = signal<string | undefined>(undefined);

// The next one who signs in here is maybe somebody else.
effect(() => {
  if (session.value === undefined) [draft.value, created.value] = [empty, undefined];
});

export function emptyDraft(): void {
  draft.value = empty;
}

export function enter(step: StepName, values: Values, isDone: boolean): void {
  const { done, values: present, failure, ...rest } = draft.peek();
  draft.value = {
    ...rest,
    values: { ...present, [step]: values },
    done: [...done.filter((each) => each !== step), ...(isDone ? [step] : [])],
    ...(failure && failure.step !== step && { failure }),
  };
}

/** The first step that is not done, or else the summary. */
export function nextOpen(): StepName | 'summary' {
  return stepNames.find((step) => !draft.value.done.includes(step)) ?? 'summary';
}

/** What a step makes, and what that means. */
export type Planned = NewObject & {
  readonly step: StepName;
  readonly kind: string;
  readonly name: string;
  readonly says: string;
};

type Entered = Draft['values'];

/**
 * In the order in which it is made: the contract is last, since before it a paymaster that denies pays for nothing. What fails in the
 * middle leaves no paymaster that pays without its limit.
 */
export function planObjects({ chain = {}, contract, limit, webhook }: Entered): readonly Planned[] {
  const { name = '', chainId, version } = chain;
  const object = objectName(name);
  const spec = { name, chainId: Number(chainId), type: 'HYBRID', version, defaultContractAction: 'Deny' };
  const says = `On chain ${chainId}, version ${version}. It pays for nothing that is not listed.`;
  return [
    { step: 'chain', kind: 'Paymaster', noun: 'paymasters', object, spec, name, says },
    ...(limit?.['has'] === 'yes' ? [planLimit(object, limit)] : []),
    ...(webhook?.['has'] === 'yes' ? [planWebhook(object, webhook)] : []),
    ...(contract?.['has'] === 'yes' ? [planContract(object, contract)] : []),
  ];
}

function planContract(paymaster: string, values: Values): Planned {
  const made = composeContract(paymaster, values);
  const methods = made.spec.whitelistedMethods.join(', ') || 'no method';
  const { name, address } = made.spec;
  const says = `At ${address}: calls of ${methods} are paid for.`;
  return { ...made, step: 'contract', kind: 'Contract', name, says };
}

function planLimit(paymaster: string, values: Values): Planned {
  const made = composeLimit(paymaster, values);
  const words = limitWords(made.spec.spendingLimit as NonNullable<Policy['spec']['spendingLimit']>);
  const says = `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
  return { ...made, step: 'limit', kind: 'Limit', name: made.spec.name, says };
}

function planWebhook(paymaster: string, values: Values): Planned {
  const made = composeRule(paymaster, 'WEBHOOK', values);
  const says = `Asks ${values['url']} about each operation.`;
  return { ...made, step: 'webhook', kind: 'Webhook', name: made.spec.name, says };
}

/** What is not made, where that means something. */
export function listWarnings({ contract, limit }: Entered): readonly string[] {
  const isWithout = contract?.['has'] !== 'yes';
  return [
    ...(isWithout ? ['No contract is registered: it pays for nothing until you register one.'] : []),
    ...(!isWithout && limit?.['has'] !== 'yes'
      ? ['There is no limit: it pays for every call of these methods, as long as there is money.']
      : []),
  ];
}

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

/** The Idempotency-Key of a body: always the same for the same one. */
function keyFor(body: string): string {
  const { keys, ...rest } = draft.peek();
  const known = keys.get(body);
  if (known !== undefined) return known;
  // Also where there is no TLS, and so no `randomUUID`.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const key = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  draft.value = { ...rest, keys: new Map([...keys, [body, key]]) };
  return key;
}
