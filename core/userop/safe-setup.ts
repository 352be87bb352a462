import { AbiReader } from './abi-reader.js';
import { erc7579Selector } from './account-functions.js';
import { callReaders } from './call-shapes.js';
import { maxCalls, Undecodable, type Call, type CallData, type Range } from './call.js';

/**
 * The parts of a Safe7579 (1.0.0) that its set-up may name. Code of another address would run as the new account, whatever calls
 * are read. Lowercase.
 */
const known = {
  /** Safe and SafeL2 1.4.1. */
  singleton: new Set([
    '0x41675c099f32341bf84bfc5382af534df5c7461a',
    '0x29fcb43b46531bca003ddc8fcb67ffe91900c762',
  ]),
  launchpad: new Set(['0x7579011ab74c46090561ea277ba79d510c6c00ff']),
  adapter: new Set(['0x7579ee8307284f293b1927136486880611f20002']),
  /** Rhinestone's OwnableValidator, of two releases, WebAuthnValidator, SmartSessions, of two, and the fallback of the older one. */
  module: new Set([
    '0x2483da3a338895199e5e538530213157e931bf06',
    '0x000000000013fdb5234e4e3162a810f54d9f7e98',
    '0x7ab16ff354acb328452f1d445b3ddee9a91e9e69',
    '0x00000000008bdaba73cd9815d79069c247eb4bda',
    '0x00000000002b0ecfbd0496ee71e01257da0e37de',
    '0x000000000052e9685932845660777df43c2dc496',
  ]),
};

/** `initSafe7579(address,(address,bytes)[],(address,bytes)[],(address,bytes)[],address[],uint8)`, with which the Safe sets itself up. */
const initSelector = '15cca638';

/**
 * Calls in the arguments of `setupSafe((address singleton, address[] owners, uint256 threshold, address setupTo, bytes setupData,
 * address safe7579, (address module, bytes initData)[] validators, bytes callData))`. The launchpad makes the Safe what the
 * arguments say, and then makes the call, in the operation's call: caps on deployment do not bound it.
 */
export function readSetup(callData: CallData, args: Range): readonly Call[] {
  const { reader, start } = new AbiReader(callData, args, 1).struct(args.start, 8);
  expectKnown('singleton', reader.address(start));
  expectKnown('launchpad', reader.address(start + 96));
  const adapter = reader.address(start + 160);
  expectKnown('adapter', adapter);
  reader.words(start + 32, maxCalls);
  reader.uint256(start + 64);
  readInit(callData, reader.bytes(start + 128), adapter);
  expectModules(callData, reader, start + 192);
  const call = reader.bytes(start + 224);
  if (callData.hex.slice(2 + 2 * call.start, 10 + 2 * call.start) !== erc7579Selector.slice(2))
    throw new Undecodable(`its call must be one of ${erc7579Selector} execute(bytes32,bytes)`);
  return callReaders['erc-7579'](callData, { start: call.start + 4, end: call.end });
}

function readInit(callData: CallData, data: Range, adapter: string): void {
  if (callData.hex.slice(2 + 2 * data.start, 10 + 2 * data.start) !== initSelector)
    throw new Undecodable(`its setupData must call 0x${initSelector} initSafe7579`);
  const { start, end } = { start: data.start + 4, end: data.end };
  const reader = new AbiReader(callData, { start, end }, 6);
  const own = reader.address(start);
  if (own !== adapter) throw new Undecodable(`its setupData name the adapter ${own} instead of ${adapter}`);
  for (const at of [32, 64, 96]) expectModules(callData, reader, start + at);
  reader.words(start + 128, maxCalls);
  reader.size(start + 160);
}

/** `(address module, bytes initData)[]`, whose offset is in the word at `at`. */
function expectModules(callData: CallData, outer: AbiReader, at: number): void {
  const elements = outer.elements(at, maxCalls);
  for (let index = 0; index < elements.length; index += 1) {
    const { reader, start } = elements.reader.struct(elements.start + 32 * index, 2);
    const module = reader.address(start);
    if (callData.modules?.has(module) !== true) expectKnown('module', module);
    reader.bytes(start + 32);
    elements.reader.passed(reader);
  }
  outer.passed(elements.reader);
}

function expectKnown(what: keyof typeof known, address: string): void {
  if (known[what].has(address)) return;
  const remedy = what === 'module' ? ' and not in spec.accountModules of the Chain' : '';
  throw new Undecodable(`its ${what} ${address} is not one of the known ones${remedy}`);
}
