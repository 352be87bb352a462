import { afterEach, describe, expect, test } from '@jest/globals';
import { compileChain } from '../../core/config/compile-chain.js';
import { silentLogger } from '../../core/log.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { parseAddress } from '../../core/units/address.js';
import type { Address } from '../../core/units/address.js';
import { createChainFacts } from '../../operator/facts/chain-facts.js';
import type { ChainFacts, FactChange } from '../../operator/facts/chain-facts.js';
import { aChain } from '../build/resources.js';
import { createScriptedChain, signerAddress } from './scripted-chain.js';
import type { ChainState } from './scripted-chain.js';
import { createVirtualTime, turn } from './virtual-time.js';
import type { VirtualTime } from './virtual-time.js';

const { config } = compileChain({ chain: aChain(), feeTokens: [], layouts, previous: undefined });
const [profile] = config.profiles;
const addressOf = (index: number): Address => parseAddress(`0x${index.toString(16).padStart(40, '0')}`);

let facts: ChainFacts;
let time: VirtualTime;
let state: ChainState;
let changes: FactChange[];
afterEach(() => facts.stop());

function start(): void {
  const chain = createScriptedChain();
  state = chain.state;
  time = createVirtualTime();
  changes = [];
  facts = createChainFacts({
    chains: chain.chains,
    layouts,
    signers: { get: () => ({ address: signerAddress, implementation: 'test', sign: () => [] }) },
    clock: time.clock,
    timers: time.timers,
    log: silentLogger,
    onChange: (change) => changes.push(change),
  });
}

/** Lets `ms` pass in small steps, and runs everything that is due. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 10) {
    time.advance(10);
    await turn();
  }
}

const questions = (contracts: readonly Address[]) => ({
  chainId: 31337,
  profile,
  fundings: [],
  contracts,
});

describe('facts of a chain', () => {
  test('are unknown until the chain is offered, and read soon after', async () => {
    start();
    facts.setPaymaster('acme/shop', questions([addressOf(1)]));
    await pass(1000);
    expect(facts.code(31337, addressOf(1))).toBe('Unknown');
    facts.setChain(config);
    await pass(100);
    expect(facts.reachability(31337)).toBe('Reachable');
    expect(facts.code(31337, addressOf(1))).toBe('CodePresent');
  });

  test('wake the affected objects once, and none when nothing changed', async () => {
    start();
    facts.setChain(config);
    facts.setPaymaster('acme/a', questions([addressOf(1)]));
    facts.setPaymaster('acme/b', questions([addressOf(2)]));
    await pass(200);
    expect(changes.flatMap(({ paymasters }) => paymasters).sort()).toEqual(['acme/a', 'acme/b']);
    // "usable" counts only after two equal answers.
    await pass(11_000);
    changes.length = 0;
    await pass(120_000);
    expect(changes).toEqual([]);
    facts.setPaymaster('acme/b', questions([addressOf(2), addressOf(3)]));
    await pass(200);
    expect(changes).toEqual([{ chainId: 31337, isChainChanged: false, paymasters: ['acme/b'] }]);
  });

  test('for many new questions are all read soon, in rounds of bounded size', async () => {
    start();
    facts.setChain(config);
    const many = Array.from({ length: 1000 }, (_, index) => addressOf(index + 1));
    facts.setPaymaster('acme/shop', questions(many));
    await pass(2000);
    expect(many.filter((address) => facts.code(31337, address) !== 'CodePresent')).toEqual([]);
  });

  test('that are wrong are read again after growing waits, finally every 15 s', async () => {
    start();
    state.withoutCode.add(addressOf(1).toLowerCase());
    facts.setChain(config);
    facts.setPaymaster('acme/shop', questions([addressOf(1)]));
    await pass(60_000);
    expect(facts.code(31337, addressOf(1))).toBe('NoCode');
    state.withoutCode.clear();
    await pass(15_100);
    expect(facts.code(31337, addressOf(1))).toBe('CodePresent');
  });

  test('stay unchanged while the chain does not answer', async () => {
    start();
    facts.setChain(config);
    facts.setPaymaster('acme/shop', questions([addressOf(1)]));
    await pass(100);
    state.isReachable = false;
    await pass(31_000);
    expect(facts.reachability(31337)).toBe('Unreachable');
    expect(facts.code(31337, addressOf(1))).toBe('CodePresent');
    if (profile === undefined) throw new Error('the chain has no profile');
    expect(facts.profile(31337, profile).hash).toBe('HashMatches');
  });

  test('are read although the node answers no valid block; only the clock stays unchanged', async () => {
    start();
    state.hasBrokenBlocks = true;
    facts.setChain(config);
    facts.setPaymaster('acme/shop', questions([addressOf(1)]));
    await pass(100);
    expect(facts.clock(31337)).toBe('Unknown');
    expect(facts.code(31337, addressOf(1))).toBe('CodePresent');
    state.hasBrokenBlocks = false;
    await pass(1_000);
    expect(facts.clock(31337)).toBe('InStep');
    state.hasBrokenBlocks = true;
    await pass(60_000);
    expect(facts.clock(31337)).toBe('InStep');
  });

  test('what concerns signing is asked more often than the rest, and costs three requests', async () => {
    start();
    facts.setChain(config);
    facts.setPaymaster('acme/shop', questions([addressOf(1)]));
    await pass(11_000);
    const requests = () => {
      const { requests: before } = state;
      return async (ms: number) => {
        await pass(ms);
        return state.requests - before;
      };
    };
    // Three looks between two rounds, of which a round asks for more.
    const round = await requests()(20_000);
    expect(round).toBeGreaterThan(3 * 3);
    expect(await requests()(60_000)).toBe(3 * round);
    state.withoutCode.add(config.profiles[0]?.sponsorship.toLowerCase() ?? '');
    await pass(5_010);
    if (profile === undefined) throw new Error('the chain has no profile');
    expect(facts.profile(31337, profile).code).toBe('NoCode');
  });

  test('a node that dies while an answer waits to be confirmed is not asked without a pause', async () => {
    start();
    facts.setChain(config);
    await pass(11_000);
    state.signer = addressOf(1);
    await pass(5_010);
    state.isReachable = false;
    await pass(10_000);
    const { requests } = state;
    await pass(60_000);
    // Looks every five seconds and rounds at least every fifteen, one request each.
    expect(state.requests - requests).toBeLessThan(2 * (60 / 5));
    state.isReachable = true;
    await pass(15_010);
    if (profile === undefined) throw new Error('the chain has no profile');
    expect(facts.usability(31337, profile)).toBe('SIGNER_NOT_AUTHORIZED');
  });

  test('about the deposits of a hundred wallets take one request a round', async () => {
    start();
    facts.setChain(config);
    /** Requests of six rounds in which all is well. */
    const requests = async () => {
      await pass(60_000);
      const before = state.requests;
      await pass(120_000);
      return state.requests - before;
    };
    const quiet = await requests();
    if (profile === undefined) throw new Error('the chain has no profile');
    for (let index = 1; index <= 100; index += 1) {
      const funding = { profile, wallet: addressOf(index) };
      facts.setPaymaster(`acme/${index}`, { chainId: 31337, profile, fundings: [funding], contracts: [] });
    }
    expect(await requests()).toBeLessThanOrEqual(quiet + 7);
    expect(facts.funding(31337, { profile, wallet: addressOf(100) })).toBe('Ok');
  });

  describe('where the node answers some questions only', () => {
    const wallets = Array.from({ length: 450 }, (_, index) => addressOf(index + 1));
    function ask(wallet: Address): void {
      if (profile === undefined) throw new Error('the chain has no profile');
      const funding = { profile, wallet };
      facts.setPaymaster(`acme/${wallet}`, { chainId: 31337, profile, fundings: [funding], contracts: [] });
    }
    const known = () =>
      wallets.filter((wallet) => profile && facts.funding(31337, { profile, wallet }) !== 'Unknown').length;

    test('are asked for again after growing waits, however many there are', async () => {
      start();
      for (const wallet of wallets) state.silentDeposits.add(wallet.toLowerCase());
      for (const wallet of wallets) ask(wallet);
      facts.setChain(config);
      await pass(10_000);
      expect(state.depositsAsked).toBeGreaterThanOrEqual(450);
      // Three rounds of new questions, then one after 0.25, 0.5, 1, 2 and 4 s.
      expect(state.depositsAsked).toBeLessThan(450 + 6 * 200);
    });

    test('those without an answer keep no other waiting', async () => {
      start();
      for (const wallet of wallets.slice(0, 300)) state.silentDeposits.add(wallet.toLowerCase());
      for (const wallet of wallets) ask(wallet);
      facts.setChain(config);
      await pass(5_000);
      expect(known()).toBe(150);
      state.silentDeposits.clear();
      await pass(60_000);
      expect(known()).toBe(450);
    });
  });

  test('that nobody asks for any longer are forgotten', async () => {
    start();
    facts.setChain(config);
    facts.setPaymaster('acme/shop', questions([addressOf(1)]));
    await pass(100);
    facts.removePaymaster('acme/shop');
    await pass(31_000);
    expect(facts.code(31337, addressOf(1))).toBe('Unknown');
  });

  test('of a chain that was taken away are forgotten, and the operator no longer calls it', async () => {
    start();
    facts.setChain(config);
    await pass(100);
    facts.removeChain(31337);
    expect(facts.reachability(31337)).toBe('Unknown');
    expect(time.pending()).toBe(0);
  });
});
