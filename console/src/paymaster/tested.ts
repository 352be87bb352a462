import type { Answers } from '../answers.js';
import { call } from '../api.js';
import type { Change } from '../parts/form.js';
import type { Policy } from '../records.js';

/** Asks the host of a webhook, as a test. */
export const tested =
  ({ name, spec }: Policy): Change =>
  async () => {
    const path = `/manage/v1/policies/${name}/test`;
    const { verdict, wouldPass, durationMs, reason, detail } = await call<Answers['testPolicyWebhook']>(
      path,
      {
        method: 'POST',
      },
    );
    const why = [reason, detail].filter((each) => each !== undefined).join(', ');
    return {
      kind: verdict === 'verified' ? 'done' : 'error',
      text: `“${spec.name}” ${verdict} after ${durationMs} ms${why && `: ${why}`}. An operation would ${wouldPass ? 'pass' : 'be refused'}.`,
    };
  };
