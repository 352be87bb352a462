import type { RefusedCall } from '../errors.js';
import { decodedHex, hexWord, type DecodedHex, type Hex } from '../units/hex.js';
import type { AddressKey } from '../units/address.js';
import {
  accountFunctions,
  shapeArguments,
  unreadFunctions,
  type AccountFunction,
  type AccountFunctions,
} from './account-functions.js';
import { Undecodable, type Call, type CallData, type CallRefusal, type Range } from './call.js';
import { callReaders, readStructsAndFlag } from './call-shapes.js';
import { readSetup } from './safe-setup.js';

/** The calls that callData makes the account execute. `calls` is empty for empty callData and for an empty batch. */
export type DecodedCalls =
  | {
      readonly outcome: 'calls';
      readonly calls: readonly Call[];
      /** The account's function, e.g. `execute(address,uint256,bytes)`; '' for empty callData. */
      readonly signature: string;
    }
  | {
      readonly outcome: 'refused';
      readonly reason: CallRefusal;
      readonly detail: string;
      readonly call?: RefusedCall;
    };

/** What the meaning of callData depends on, besides its bytes. */
export type CallContext = {
  /** The sender. */
  readonly account: AddressKey;
  /** Whether the EntryPoint passes the whole operation to `executeUserOp`: from 0.7 on. */
  readonly passesWholeOperation: boolean;
  /** Rows of the Chain, and then of the Paymaster, for selectors that no row before them has. */
  readonly ofChain: AccountFunctions | undefined;
  readonly ofPaymaster: AccountFunctions | undefined;
  /** Modules that the Chain lists. */
  readonly modules: ReadonlySet<AddressKey> | undefined;
};

/**
 * Decodes callData (lowercase) by the table of account functions. Everything that is accepted means the same calls to
 * Solidity and to ethers; everything doubtful is refused. `known` holds the bytes if the caller has them. Hot path:
 * allocates per call, not per byte.
 */
export function decodeCalls(callData: Hex, context: CallContext, known?: DecodedHex): DecodedCalls {
  if (callData === '0x') return { outcome: 'calls', calls: [], signature: '' };
  const selector = callData.slice(0, 10);
  const row = findFunction(selector, context);
  if (row === undefined) return refuseSelector(selector);
  const { hex, bytes } = decodedHex(callData, known);
  const { account, modules } = context;
  const source: CallData = { hex, bytes, account, ...(modules === undefined ? {} : { modules }) };
  try {
    const calls = readOutermost(row, source, context);
    return { outcome: 'calls', calls, signature: row.signature };
  } catch (error) {
    if (!(error instanceof Undecodable)) throw error;
    const { reason, message, call } = error;
    const refused = { outcome: 'refused', reason, detail: `${row.signature}: ${message}` } as const;
    return call === undefined ? refused : { ...refused, call };
  }
}

/** A built-in row wins: what a selector of known accounts means is nobody's to change. */
function findFunction(selector: string, { ofChain, ofPaymaster }: CallContext): AccountFunction | undefined {
  return accountFunctions.get(selector) ?? ofChain?.get(selector) ?? ofPaymaster?.get(selector);
}

function readOutermost(row: AccountFunction, source: CallData, context: CallContext): readonly Call[] {
  const args = { start: 4, end: source.bytes.length };
  if (row.shape === 'wrapped') return readWrapped(source, args, context);
  if (row.shape === 'setup-then-call') return readSetup(source, args);
  const calls = callReaders[row.shape](source, args, row.batchers);
  // Only of an empty batch of a known account is it certain that it does nothing.
  if (calls.length === 0 && !accountFunctions.has(source.hex.slice(0, 10)))
    throw new Undecodable('a batch without a call');
  return calls;
}

const offsetOfStruct = hexWord(32);

/**
 * Calls after the four bytes of `executeUserOp`, of which the account reads the rest itself: a call of one of its functions, or the
 * batch with its flag alone (Calibur), whose first word is an offset and never a selector.
 */
function readWrapped(source: CallData, { start, end }: Range, context: CallContext): readonly Call[] {
  if (!context.passesWholeOperation)
    throw new Undecodable(
      'this EntryPoint does not pass the whole operation to it, so that its arguments may mean anything',
    );
  const calls = readInner(source, { start, end }, context);
  // What the account does around no call at all is its own.
  if (calls.length === 0) throw new Undecodable('no call after the selector');
  return calls;
}

function readInner(source: CallData, { start, end }: Range, context: CallContext): readonly Call[] {
  const at = 2 + 2 * start;
  if (source.hex.slice(at, at + 64) === offsetOfStruct) return readStructsAndFlag(source, { start, end });
  const selector = `0x${source.hex.slice(at, at + 8)}`;
  const row = findFunction(selector, context);
  if (row === undefined || row.shape === 'wrapped' || row.shape === 'setup-then-call')
    throw new Undecodable(`${selector} after its selector is not an account function that may be there`);
  return callReaders[row.shape](source, { start: start + 4, end }, row.batchers);
}

function refuseSelector(selector: string): DecodedCalls {
  return selector.length < 10
    ? {
        outcome: 'refused',
        reason: 'CALLDATA_UNDECODABLE',
        detail: `callData ${selector} is shorter than a selector`,
      }
    : { outcome: 'refused', reason: 'ACCOUNT_UNKNOWN', detail: unknown(selector) };
}

/** Which selector, which function where we know it, and the YAML with which it is read. */
function unknown(selector: string): string {
  const found = unreadFunctions.get(selector);
  if (found === undefined)
    return `no known account executes calls with selector ${selector}: if its function has one of the shapes of accountFunctions, add it to the Paymaster, e.g. ${exampleYaml(`NAME${shapeArguments.call}`, 'call')}`;
  const what = `${selector} is ${found.signature}, which is not read`;
  return 'why' in found
    ? `${what}: ${found.why}`
    : `${what}: add it to the Paymaster, ${exampleYaml(found.signature, found.shape)}`;
}

function exampleYaml(signature: string, shape: string): string {
  return `spec: {accountFunctions: [{signature: "${signature}", shape: ${shape}}]}`;
}
