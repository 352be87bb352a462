import { isDomainError } from '../../core/errors.js';
import { refuse } from '../../core/refusal.js';
import { toSeconds } from '../../core/units/time.js';
import { decideValidation, type AccountValidator } from '../../core/userop/account-validation.js';
import { simulationError } from './eth-call-gas.js';
import { estimationFailed, PaymasterFailed } from './simulate-handle-op.js';
import { createSimulators, type SimulatorsDeps } from './simulators.js';

/** Validates by the simulation of the whole operation, in the paymaster's turn at the chain. */
export function createAccountValidator(deps: SimulatorsDeps): AccountValidator {
  const withSimulator = createSimulators(deps);
  return {
    validate: (request) =>
      withSimulator(request, async ({ simulate }) => {
        const { op, paymasterAndData, headBlock, entryPointVersion } = request;
        try {
          const { accountValidationData } = await simulate({ op, paymasterAndData, target: undefined });
          if (accountValidationData === undefined)
            throw estimationFailed('this EntryPoint does not show what the account returned');
          const next = { number: headBlock + 1, timestamp: toSeconds(deps.clock.now()) };
          return decideValidation(accountValidationData, next, entryPointVersion);
        } catch (error) {
          // The EntryPoint refuses the operation, e.g. because the account reverts for a wrong signature. What it says
          // about the paymaster says nothing about the account.
          if (isDomainError(error, 'ESTIMATION_FAILED') && !(error instanceof PaymasterFailed))
            return refuse('ACCOUNT_VALIDATION_FAILED', error.message);
          throw simulationError(error, 'the signature of the account cannot be checked');
        }
      }),
  };
}
