import type { DecisionInputs } from './record.js';
import { recordForm } from './record-text.js';

/** The same text as `formatRecord` of inputs. There are as many of them as decisions; see `formatDecision`. */
export function formatInputsRecord(inputs: DecisionInputs): string {
  const { id, at, organisation, paymasterId, chainId, sequence, body } = inputs;
  return (
    `{"v":${recordForm},"kind":"inputs","id":"${id}","at":${at},"organisation":${JSON.stringify(organisation)}` +
    `,"paymasterId":${JSON.stringify(paymasterId)},"chainId":${chainId},"sequence":${sequence}` +
    `,"body":${JSON.stringify(body)}}`
  );
}
