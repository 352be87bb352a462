import { CallReverted, type BlockTag, type CallRequest, type Chain } from '../../core/chain/chain.js';
import type { ProfileConfig } from '../../core/config/chain-config.js';
import { unlessUnavailable } from '../../core/errors.js';
import type { Layout, LayoutId, SponsorshipCodec } from '../../core/paymaster/layout.js';
import type { Signer, Signers } from '../../core/paymaster/signer.js';
import { toAddressKey, type Address } from '../../core/units/address.js';
import { hexWord, type Hex } from '../../core/units/hex.js';
import {
  bestSigner,
  profileSignerFiles,
  type CodeLevel,
  type ProfileFacts,
  type SignerLevel,
} from './facts.js';

/** What decides whether operations signed for a profile can be mined. */
export type Acceptance = Pick<ProfileFacts, 'code' | 'entryPoint' | 'signer' | 'signers'>;

type AcceptanceDeps = {
  readonly chain: Pick<Chain, 'call' | 'code' | 'words'>;
  readonly layouts: Readonly<Record<LayoutId, Layout>>;
  readonly signers: Pick<Signers, 'get'>;
};

/**
 * One answer per profile, all from one block: one request for all profiles that are in order. A word that is missing
 * there has many causes (no code, a revert, too little gas), so such a profile is asked again, question by question.
 */
export async function readAcceptances(
  deps: AcceptanceDeps,
  profiles: readonly ProfileConfig[],
  block: BlockTag,
): Promise<readonly Acceptance[]> {
  const asked = profiles.map((profile) => listQuestions(deps, profile));
  const words = await unlessUnavailable(
    deps.chain.words(
      asked.flatMap(({ calls }) => calls),
      block,
    ),
  );
  let at = 0;
  const answers: Promise<Acceptance>[] = [];
  for (const questions of asked) {
    const own = words?.slice(at, at + questions.calls.length);
    at += questions.calls.length;
    answers.push(
      own === undefined
        ? Promise.resolve(withLevels(questions, 'Unknown', 'Unknown', () => 'Unknown'))
        : readAcceptance(deps.chain, questions, own, block),
    );
  }
  return Promise.all(answers);
}

/**
 * The answer of a call; `0x` when the contract reverts, which is also an answer; undefined when the chain does not
 * answer.
 */
export async function askCall(chain: Pick<Chain, 'call'>, request: CallRequest): Promise<Hex | undefined> {
  const call = chain.call(request).catch((error: unknown) => {
    if (error instanceof CallReverted) return '0x' as const;
    throw error;
  });
  return unlessUnavailable(call);
}

/** Whether every address has code. */
export async function readCode(
  chain: Pick<Chain, 'code'>,
  addresses: readonly Address[],
  block: BlockTag,
): Promise<CodeLevel> {
  const codes = await unlessUnavailable(Promise.all(addresses.map((address) => chain.code(address, block))));
  if (codes === undefined) return 'Unknown';
  return codes.includes('0x') ? 'NoCode' : 'CodePresent';
}

/** A fault of one contract is a fault of the profile; if one answer is unknown, the profile's is unknown. */
export function worstOf<T extends string>(good: T, answers: readonly (T | 'Unknown')[]): T | 'Unknown' {
  const bad = answers.find((answer) => answer !== good && answer !== 'Unknown');
  return bad ?? (answers.includes('Unknown') ? 'Unknown' : good);
}

export const wordPattern = /^0x[0-9a-f]{64}$/;

/** An address as the 64 hex digits of a word. */
export function addressWord(address: Address): string {
  return toAddressKey(address).slice(2).padStart(64, '0');
}

type Questions = ReturnType<typeof listQuestions>;

/** `entryPoint()` and `balanceOf(address)`. */
const entryPointSelector: Hex = '0xb0d691fe';
export const balanceOf: Hex = '0x70a08231';

function listQuestions({ layouts, signers }: AcceptanceDeps, profile: ProfileConfig) {
  /** Every key file; undefined for one that is not mounted here. */
  const keys = new Map(profileSignerFiles(profile).map((file) => [file, signers.get(file)]));
  const codecs = listCodecs(profile, layouts[profile.layout]);
  const signerQuestions = codecs.flatMap(({ address, signerCall }) =>
    [...keys.values()].flatMap((key) =>
      key === undefined ? [] : [{ key, to: address, ...signerCall(key.address) }],
    ),
  );
  const contracts = codecs.map(({ address }) => address);
  return {
    profile,
    keys,
    contracts,
    signerQuestions,
    /** `balanceOf` of the EntryPoint, `entryPoint` of each contract, then the questions about signers. */
    calls: [
      // Every version of the EntryPoint answers this, so a word shows that its code is there.
      { to: profile.entryPoint, data: `${balanceOf}${addressWord(profile.sponsorship)}` as Hex },
      ...contracts.map((to) => ({ to, data: entryPointSelector })),
      ...signerQuestions,
    ],
  };
}

/** The contract of mode SPONSORED and that of mode ERC20, which may be at the same address. */
function listCodecs(
  profile: ProfileConfig,
  { sponsorship, token }: Layout,
): readonly (Pick<SponsorshipCodec, 'signerCall'> & { readonly address: Address })[] {
  const sponsoring = { address: profile.sponsorship, signerCall: sponsorship.signerCall };
  if (profile.token === undefined || token === undefined) return [sponsoring];
  return [sponsoring, { address: profile.token, signerCall: token.signerCall }];
}

async function readAcceptance(
  chain: AcceptanceDeps['chain'],
  questions: Questions,
  words: readonly (bigint | undefined)[],
  block: BlockTag,
): Promise<Acceptance> {
  if (!words.includes(undefined)) return decideAcceptance(questions, words.slice(1).map(toWord));
  const { profile, contracts, calls } = questions;
  const code = await readCode(chain, [profile.entryPoint, ...contracts], block);
  if (code !== 'CodePresent') return withLevels(questions, code, 'Unknown', () => 'Unknown');
  const answers = calls.slice(1).map(({ to, data }) => askCall(chain, { to, data, block }));
  return decideAcceptance(questions, await Promise.all(answers));
}

/** `answers`: of every call but the first; undefined where the chain did not answer. */
function decideAcceptance(questions: Questions, answers: readonly (Hex | undefined)[]): Acceptance {
  const { profile, contracts, signerQuestions } = questions;
  const expected = `0x${addressWord(profile.entryPoint)}`;
  const named = answers.slice(0, contracts.length).map((answer) => {
    if (answer === undefined) return 'Unknown';
    return answer === expected ? 'EntryPointMatches' : 'OtherEntryPoint';
  });
  const ofKeys = new Map<Signer, SignerLevel[]>();
  for (const [index, { key, isAuthorised }] of signerQuestions.entries()) {
    const answer = answers[contracts.length + index];
    ofKeys.set(key, [...(ofKeys.get(key) ?? []), decideSignerLevel(answer, isAuthorised)]);
  }
  const entryPoint = worstOf<ProfileFacts['entryPoint']>('EntryPointMatches', named);
  return withLevels(questions, 'CodePresent', entryPoint, (key) =>
    worstOf<SignerLevel>('Authorized', ofKeys.get(key) ?? ['Unknown']),
  );
}

function decideSignerLevel(answer: Hex | undefined, isAuthorised: (answer: Hex) => boolean): SignerLevel {
  if (answer === undefined) return 'Unknown';
  return wordPattern.test(answer) && isAuthorised(answer) ? 'Authorized' : 'NotAuthorized';
}

function withLevels(
  { keys }: Questions,
  code: CodeLevel,
  entryPoint: ProfileFacts['entryPoint'],
  level: (key: Signer) => SignerLevel,
): Acceptance {
  const signers = Object.fromEntries(
    [...keys].map(([file, key]) => [file, key === undefined ? ('SignerNotFound' as const) : level(key)]),
  );
  return { code, entryPoint, signers, signer: bestSigner(signers) };
}

function toWord(value: bigint | undefined): Hex | undefined {
  return value === undefined ? undefined : `0x${hexWord(value)}`;
}
