import { isDomainError } from '../../core/errors.js';
import { refuse } from '../../core/refusal.js';
import { toSeconds } from '../../core/units/time.js';
import { decideValidation, type AccountValidator } from '../../core/userop/account-validation.js';
import { estimationFailed, GasCapped, OverridesUnsupported, PaymasterFailed } from './simulate-handle-op.js';
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
          if (error instanceof OverridesUnsupported)
            throw estimationFailed(
              'the chain node knows no state overrides, so the signature of the account cannot be checked',
            );
          if (error instanceof GasCapped)
            throw estimationFailed('the chain node gives eth_call too little gas for this operation');
          // It says nothing about the account.
          if (error instanceof PaymasterFailed) throw error;
          // The EntryPoint refuses the operation, e.g. because the account reverts for a wrong signature.
          if (isDomainError(error, 'ESTIMATION_FAILED'))
            return refuse('ACCOUNT_VALIDATION_FAILED', error.message);
          throw error;
        }
      }),
  };
}
