import type { AddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import {
  gasPriceOf,
  paymasterGasIn,
  prefundOf,
  type AccountCall,
  type ActionResult,
  type BundledOperation,
  type ChainAction,
  type ContractSpec,
  type OperationResult,
} from './operations.js';
import { accepts, changedKeys, firstKeyAlone } from './signing-keys.js';

/** Everything on chain that money depends on. Maps are never changed: an action makes new ones. */
export type ChainState = {
  /** EntryPoint deposits, by contract. */
  readonly deposits: ReadonlyMap<string, bigint>;
  /** Balances inside hybrid contracts, by `contract/wallet`. */
  readonly wallets: ReadonlyMap<string, bigint>;
  /** Next sequence, by `entryPoint/sender/key`; absent is 0. */
  readonly nonces: ReadonlyMap<string, bigint>;
  /** Fee tokens, by account. */
  readonly tokens: ReadonlyMap<string, bigint>;
  /** Fee tokens that contracts may take, by `account/contract`. */
  readonly allowances: ReadonlyMap<string, bigint>;
  /** Mask of the service's keys that a contract accepts; absent: the first alone. */
  readonly signers: ReadonlyMap<string, bigint>;
};

export const emptyState: ChainState = {
  deposits: new Map(),
  wallets: new Map(),
  nonces: new Map(),
  tokens: new Map(),
  allowances: new Map(),
  signers: new Map(),
};

/** Values that the model does not compute: how much gas an execution takes. The model gives the upper bound of each. */
export type Nature = {
  /** Gas used by an operation of at most `limit`. */
  readonly gasUsed: (operation: BundledOperation, limit: bigint) => bigint;
  /** Charge to a balance inside a hybrid contract for a cost, at most `taken`. */
  readonly charge: (operation: BundledOperation, taken: bigint, cost: bigint) => bigint;
  /** The part of a charge that is a premium. */
  readonly premium: (operation: BundledOperation, charge: bigint) => bigint;
  /** Tokens due for an operation that can pay at most `most`. */
  readonly tokensDue: (operation: BundledOperation, most: bigint) => bigint;
};

export type Block = { readonly time: number; readonly baseFee: bigint };

const maxAllowance = (1n << 256n) - 1n;

export function walletName(contract: AddressKey, wallet: AddressKey): string {
  return `${contract}/${wallet}`;
}

export function nonceName(entryPoint: AddressKey, sender: AddressKey, nonce: bigint): string {
  return `${entryPoint}/${sender}/${nonce >> 64n}`;
}

/** Mask of the service's keys that a contract accepts. */
export function keysOf({ signers }: Pick<ChainState, 'signers'>, contract: AddressKey): bigint {
  return signers.get(contract) ?? firstKeyAlone;
}

/** Whether an operation of this nonce can still be mined as far as the EntryPoint's nonces go. */
export function isNextNonce(
  state: ChainState,
  entryPoint: AddressKey,
  sender: AddressKey,
  nonce: bigint,
): boolean {
  return (state.nonces.get(nonceName(entryPoint, sender, nonce)) ?? 0n) === (nonce & 0xffff_ffff_ffff_ffffn);
}

/** The state after an action, and the action's result. A bundle that fails leaves the state unchanged. */
export function carryOut(
  state: ChainState,
  action: ChainAction,
  context: {
    readonly contracts: ReadonlyMap<AddressKey, ContractSpec>;
    readonly block: Block;
    readonly nature: Nature;
    readonly hash: (operation: BundledOperation) => Hex;
  },
): { readonly state: ChainState; readonly result: ActionResult } {
  const draft = new Draft(state);
  const done = (operations: readonly OperationResult[] = []) => ({
    state: draft.state(),
    result: { outcome: 'done' as const, operations },
  });
  switch (action.do) {
    case 'deposit':
      draft.add('deposits', action.contract, action.amount);
      if (action.wallet !== undefined)
        draft.add('wallets', walletName(action.contract, action.wallet), action.amount);
      return done();
    case 'withdraw': {
      const name = walletName(action.contract, action.wallet);
      if (draft.get('wallets', name) < action.amount)
        return { state, result: { outcome: 'failed', index: 0, code: 'reverted' } };
      draft.add('wallets', name, -action.amount);
      draft.add('deposits', action.contract, -action.amount);
      return done();
    }
    case 'signer': {
      const { keys } = context.contracts.get(action.contract)!;
      draft.set('signers', action.contract, changedKeys(keys, keysOf(state, action.contract), action));
      return done();
    }
    case 'spend-nonce':
      draft.add('nonces', `${action.entryPoint}/${action.sender}/${action.key}`, 1n);
      return done();
    case 'mint':
      draft.add('tokens', action.sender, action.amount);
      return done();
    case 'tokens':
      return applyCall(draft, action.sender, action.call)
        ? done()
        : { state, result: { outcome: 'failed', index: 0, code: 'reverted' } };
    case 'bundle':
      break;
  }

  // Every operation of a bundle is validated before the first one is executed.
  const validated: Validated[] = [];
  for (const [index, operation] of action.operations.entries()) {
    const spec = context.contracts.get(operation.contract);
    if (spec?.entryPoint !== action.entryPoint) throw new Error(`unknown contract ${operation.contract}`);
    const found = validate(draft, operation, spec, context.block);
    if (typeof found === 'string') return { state, result: { outcome: 'failed', index, code: found } };
    validated.push(found);
  }
  const results: OperationResult[] = [];
  for (const [index, one] of validated.entries()) {
    const result = execute(draft, one, context);
    if (typeof result === 'string') return { state, result: { outcome: 'failed', index, code: result } };
    results.push(result);
  }
  return done(results);
}

type Validated = {
  readonly operation: BundledOperation;
  readonly spec: ContractSpec;
  readonly prefund: bigint;
  /** Balance inside the contract that is charged, and the part of it that was taken in advance. */
  readonly payer: { readonly name: string; readonly taken: bigint } | undefined;
  /** Tokens taken in validation. */
  readonly tokensTaken: bigint;
};

/** In the EntryPoint's order: nonce, deposit, the paymaster's own checks, its signature, its time. */
function validate(
  draft: Draft,
  operation: BundledOperation,
  spec: ContractSpec,
  block: Block,
): Validated | string {
  const { op, contract, terms } = operation;
  const nonce = nonceName(spec.entryPoint, op.sender, op.nonce);
  if (draft.get('nonces', nonce) !== (op.nonce & 0xffff_ffff_ffff_ffffn)) return 'AA25';
  draft.add('nonces', nonce, 1n);
  const prefund = prefundOf(operation, spec.version);
  if (draft.get('deposits', contract) < prefund) return 'AA31';
  draft.add('deposits', contract, -prefund);
  const payer = payerOf(operation, spec, prefund);
  if (payer !== undefined) {
    if (draft.get('wallets', payer.name) < payer.taken) return 'AA33';
    draft.add('wallets', payer.name, -payer.taken);
  }
  let tokensTaken = 0n;
  if (terms.mode === 'ERC20' && spec.kind === 'hybrid') {
    const most = mostTokens(operation, spec, payer?.taken ?? 0n);
    if (draft.get('tokens', op.sender) < most) return 'AA33';
    if (takeTokens(draft, op.sender, contract, most)) tokensTaken = most;
    else if (terms.inAdvance === true) return 'AA33';
  }
  const isAccepted = accepts(keysOf(draft.state(), contract), operation.signedBy ?? 0);
  if (!operation.isSigned || !isAccepted) return 'AA34';
  if (terms.preFund !== undefined) {
    if (!takeTokens(draft, op.sender, contract, terms.preFund)) return 'AA33';
    tokensTaken = terms.preFund;
  }
  if (block.time > terms.validUntil) return 'AA32';
  return { operation, spec, prefund, payer, tokensTaken };
}

function execute(
  draft: Draft,
  { operation, spec, prefund, payer, tokensTaken }: Validated,
  {
    block,
    nature,
    hash,
  }: { readonly block: Block; readonly nature: Nature; readonly hash: (operation: BundledOperation) => Hex },
): OperationResult | string {
  const { op, contract, terms } = operation;
  // A hybrid contract chooses in validation what it takes; a second postOp no longer knows that choice.
  const takenAnyway = terms.preFund ?? 0n;
  const price = gasPriceOf(op, block.baseFee);
  const gasUsed = nature.gasUsed(operation, prefund / op.maxFeePerGas);
  const cost = gasUsed * price;
  if (cost > prefund) throw new Error(`an operation cost ${cost} of at most ${prefund}`);
  const before = draft.tokens();
  let success = applyCall(draft, op.sender, op.callData === '0x' ? { kind: 'nothing' } : operation.call);
  let tokens: bigint | undefined;
  let owed = 0n;
  const pay = (taken: bigint): void => {
    const found = payTokens(draft, {
      operation,
      spec,
      nature,
      taken,
      most: mostTokens(operation, spec, payer?.taken ?? 0n),
    });
    tokens = found.paid;
    owed = found.due - found.paid;
  };
  if (terms.mode === 'ERC20') {
    pay(tokensTaken);
    // A hybrid contract takes what it can; where its postOp can still undo the call, on 0.6, it undoes one that does not pay in full.
    const isRefused = spec.kind === 'plain' ? tokens === 0n : spec.version === '0.6' && owed > 0n;
    if (isRefused) {
      // The EntryPoint undoes the call when postOp fails; 0.6 then calls postOp once more.
      draft.restoreTokens(before);
      success = false;
      if (spec.version === '0.6') pay(takenAnyway);
      // A second failure of postOp fails the bundle; a hybrid contract then bears the cost itself.
      if (tokens === 0n && spec.version === '0.6' && spec.kind === 'plain') return 'AA50';
    }
  }
  draft.add('deposits', contract, prefund - cost);
  let charge: bigint | undefined;
  let premium = 0n;
  if (payer !== undefined) {
    charge = nature.charge(operation, payer.taken, cost);
    premium = nature.premium(operation, charge);
    draft.add('wallets', payer.name, payer.taken - charge);
    draft.add('wallets', walletName(contract, spec.tokenAccount), premium);
  }
  return {
    operation,
    userOpHash: hash(operation),
    success,
    cost,
    gasUsed,
    charge,
    premium,
    isChargeReported: payer !== undefined,
    tokens,
    owed,
    kept: tokens === 0n ? takenAnyway : 0n,
  };
}

type Payment = {
  readonly operation: BundledOperation;
  readonly spec: ContractSpec;
  readonly nature: Nature;
  /** Tokens that validation took. */
  readonly taken: bigint;
  /** The most that the contract can charge. */
  readonly most: bigint;
};

/** Tokens that arrive at the paymaster after the call, of those that are due. A plain contract gets all of them or none. */
function payTokens(
  draft: Draft,
  { operation, spec, nature, taken, most }: Payment,
): { readonly paid: bigint; readonly due: bigint } {
  const { op, contract, terms } = operation;
  const allOrNothing = (paid: bigint) => ({ paid, due: paid });
  if (taken > 0n && terms.preFund === undefined) {
    // A hybrid contract takes the most that it can charge.
    const wanted = nature.tokensDue(operation, taken);
    const due = wanted < taken ? wanted : taken;
    draft.add('tokens', op.sender, taken - due);
    return allOrNothing(due);
  }
  const held = draft.get('tokens', op.sender);
  const allowed = draft.get('allowances', `${op.sender}/${contract}`);
  const can = held < allowed ? held : allowed;
  if (spec.kind === 'hybrid') {
    const due = nature.tokensDue(operation, most);
    const paid = can < due ? can : due;
    takeTokens(draft, op.sender, contract, paid);
    return { paid, due };
  }
  if (taken > 0n) {
    // The treasury refunds the excess: it has allowed the contract to take it.
    const due = nature.tokensDue(operation, taken + can);
    if (due > taken) return allOrNothing(takeTokens(draft, op.sender, contract, due - taken) ? due : 0n);
    draft.add('tokens', op.sender, taken - due);
    return allOrNothing(due);
  }
  if (can === 0n) return allOrNothing(0n);
  const due = nature.tokensDue(operation, can);
  return allOrNothing(due <= can && takeTokens(draft, op.sender, contract, due) ? due : 0n);
}

/** The balance inside the contract that is charged, and the part that validation takes; undefined where the contract keeps none. */
export function payerOf(operation: BundledOperation, spec: ContractSpec, prefund: bigint) {
  if (spec.kind === 'plain') return undefined;
  const { contract, op, terms, paymasterAndData } = operation;
  const isSponsored = terms.mode === 'SPONSORED';
  const wallet = isSponsored ? (terms.fundingAddress ?? spec.tokenAccount) : spec.tokenAccount;
  const name = walletName(contract, wallet);
  if (spec.version === '0.6') return { name, taken: prefund };
  const overhead = (isSponsored ? 10_000n : 60_000n) * op.maxFeePerGas;
  const [, postOp] = paymasterGasIn(paymasterAndData);
  // From 0.9 on the fine on call gas is in what the EntryPoint reports, and none falls on up to 40,000 gas after the call.
  const fine =
    spec.version === '0.9'
      ? postOp > 40_000n
        ? ((postOp + 9n) / 10n) * op.maxFeePerGas
        : 0n
      : (10n * (op.callGasLimit + postOp) * op.maxFeePerGas) / 100n;
  const markup = isSponsored ? terms.markup : 1_000_000n;
  return { name, taken: ((prefund + overhead) * markup) / 1_000_000n + fine };
}

/** Tokens that a hybrid contract demands before it lets an operation through. */
function mostTokens({ op, terms }: BundledOperation, spec: ContractSpec, taken: bigint): bigint {
  const gas = op.callGasLimit + op.verificationGasLimit + op.preVerificationGas + 60_000n;
  const cost = spec.version === '0.6' ? gas * op.maxFeePerGas : taken;
  return (cost * terms.rate * terms.markup + 10n ** 24n - 1n) / 10n ** 24n;
}

/** False where the account does not have that many, or has not allowed them. An unlimited allowance does not shrink. */
function takeTokens(draft: Draft, sender: AddressKey, contract: AddressKey, amount: bigint): boolean {
  const allowance = `${sender}/${contract}`;
  const allowed = draft.get('allowances', allowance);
  if (allowed < amount || draft.get('tokens', sender) < amount) return false;
  if (allowed !== maxAllowance) draft.add('allowances', allowance, -amount);
  draft.add('tokens', sender, -amount);
  return true;
}

/** False when the call reverts. */
function applyCall(draft: Draft, sender: AddressKey, call: AccountCall): boolean {
  switch (call.kind) {
    case 'nothing':
      return true;
    case 'fail':
      return false;
    case 'approve':
      draft.set('allowances', `${sender}/${call.contract}`, call.amount);
      return true;
    case 'send':
      if (draft.get('tokens', sender) < call.amount) return false;
      draft.add('tokens', sender, -call.amount);
      return true;
  }
}

type Table = keyof ChainState;

/** Changes of one action: a map is copied when it is first written. */
class Draft {
  #state: ChainState;
  readonly #copies = new Map<Table, Map<string, bigint>>();

  constructor(state: ChainState) {
    this.#state = state;
  }

  get(table: Table, key: string): bigint {
    return this.#state[table].get(key) ?? 0n;
  }

  set(table: Table, key: string, value: bigint): void {
    this.#copy(table).set(key, value);
  }

  add(table: Table, key: string, amount: bigint): void {
    this.set(table, key, this.get(table, key) + amount);
  }

  tokens(): Pick<ChainState, 'tokens' | 'allowances'> {
    const { tokens, allowances } = this.#state;
    return { tokens: new Map(tokens), allowances: new Map(allowances) };
  }

  restoreTokens(before: Pick<ChainState, 'tokens' | 'allowances'>): void {
    this.#copies.delete('tokens');
    this.#copies.delete('allowances');
    this.#state = { ...this.#state, ...before };
  }

  state(): ChainState {
    return this.#state;
  }

  #copy(table: Table): Map<string, bigint> {
    const known = this.#copies.get(table);
    if (known !== undefined) return known;
    const copy = new Map(this.#state[table]);
    this.#copies.set(table, copy);
    this.#state = { ...this.#state, [table]: copy };
    return copy;
  }
}
