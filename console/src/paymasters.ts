import type { Answers } from './answers.js';
import { call, type Live, useLive } from './api.js';
import type { Choice } from './parts/parts.js';
import type { Objects } from './records.js';

/** As a token with the scope read sees it. */
type Spec = Extract<Objects['paymasters'], { readonly status: unknown }>['spec'];

/** `object` is the name of its resource. A token without the scope read sees its names, its chain and whether it is suspended. */
export type Known = Pick<Spec, 'name' | 'chainId'> &
  Partial<Pick<Spec, 'version' | 'funding' | 'defaultContractAction'>> & {
    readonly object: string;
    readonly paymasterId: string;
    readonly isSuspended: boolean;
    /** Who else declares fields of it. */
    readonly managers: readonly string[];
    /** Why it pays for calls of any contract, while it does. */
    readonly open?: string;
    /** Why it serves nothing, while it does not. */
    readonly down?: string;
  };

/** What the parts of a page about one paymaster get. */
export type OfPaymaster = { readonly paymaster: Known; readonly onChanged: () => void };

type Page<Item> = { readonly items: readonly Item[]; readonly nextCursor: string | null };

/** All pages of a list of `/manage/v1`; of one paymaster, where its object is given. */
export async function listAllPages<Noun extends keyof Objects>(
  noun: Noun,
  paymaster?: string,
): Promise<readonly Objects[Noun][]> {
  const found: Objects[Noun][] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const query = new URLSearchParams({
      ...(paymaster && { paymaster }),
      limit: '500',
      ...(cursor && { cursor }),
    });
    const page: Page<Objects[Noun]> = await call(`/manage/v1/${noun}?${query}`);
    found.push(...page.items);
    cursor = page.nextCursor;
  }
  return found;
}

/** Those of the organisation. */
export function usePaymasters(): Live<readonly Known[]> {
  return useLive(
    'paymasters',
    async () =>
      (await listAllPages('paymasters')).map((one): Known => {
        const { name: object, id: paymasterId } = one;
        const { suspended: isSuspended = false, ...rest } = one.spec;
        const { conditions = [] } = 'status' in one ? one.status : {};
        const said = (kinds: readonly string[], is: string): string | undefined =>
          conditions.find((each) => kinds.includes(each.type) && each.status === is)?.message;
        const [open, down] = [said(['OpenSponsorship'], 'True'), said(['Ready', 'Serving'], 'False')];
        return {
          ...rest,
          object,
          paymasterId,
          isSuspended,
          managers: 'managedBy' in one ? one.managedBy.map(({ manager }) => manager) : [],
          ...(open !== undefined && { open }),
          ...(down !== undefined && { down }),
        };
      }),
    15_000,
  );
}

export type OfferedChain = Answers['listChains']['items'][number];

/** Those that the organisation may use. */
export function useChains(): Live<readonly OfferedChain[]> {
  return useLive(
    'chains',
    async () => (await call<Answers['listChains']>('/manage/v1/chains')).items,
    60_000,
  );
}

/** A secret, which needs the scope write. */
export async function readApiKey(object: string): Promise<string> {
  return (await call<Answers['getPaymasterKey']>(`/manage/v1/paymasters/${object}/key`)).key;
}

export function formatLabel({ name, chainId }: Known): string {
  return `${name} (chain ${chainId})`;
}

/** For a filter by paymaster. */
export function listChoices({ data = [] }: Live<readonly Known[]>): readonly Choice[] {
  return [['', 'All paymasters'], ...data.map((one): Choice => [one.paymasterId, formatLabel(one)])];
}

export function findName({ data = [] }: Live<readonly Known[]>, id: string): string {
  return data.find(({ paymasterId }) => paymasterId === id)?.name ?? id.slice(0, 8);
}
