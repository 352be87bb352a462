import type { Condition } from '../../../core/meta/meta.js';
import type { ProblemRecord } from '../../../core/problems/render.js';
import { until } from '../../support/until.js';
import type { useDoctor } from './doctor.js';

/** What an organisation reads of its resources. */
export function useStates(doctor: Pick<ReturnType<typeof useDoctor>, 'connection' | 'asOrganisation'>) {
  async function condition(
    kind: 'paymasters' | 'policies',
    name: string,
    type: string,
  ): Promise<Condition | undefined> {
    const { dashboardUrl, authToken } = doctor.connection;
    const answer = await fetch(`${dashboardUrl}/manage/v1/${kind}/${name}`, { headers: { authToken } });
    const { data } = (await answer.json()) as {
      readonly data?: { readonly status?: { readonly conditions?: readonly Condition[] } };
    };
    return data?.status?.conditions?.find((each) => each.type === type);
  }

  async function becomes(name: string, type: 'Serving' | 'Funded', want: string): Promise<string> {
    let last: Condition | undefined;
    await until(
      () => `${type} of ${name} is ${want}, not ${last?.status}/${last?.reason}: ${last?.message}`,
      async () => {
        last = await condition('paymasters', name, type);
        return `${last?.status}/${last?.reason}` === want;
      },
    );
    return last?.message ?? '';
  }

  /** The severest first, as `paymaster doctor` lists them. */
  async function problemsOf(...names: readonly string[]): Promise<readonly ProblemRecord[]> {
    const { out } = await doctor.asOrganisation();
    const { problems } = JSON.parse(out) as { readonly problems: readonly ProblemRecord[] };
    return problems.filter(({ name, check }) => names.includes(name) && check !== 'open-sponsorship');
  }

  return { condition, becomes, problemsOf };
}
