import { commandsOf } from '../../doctor/finding.js';
import type { Resolvers } from '../../schema/generated/resolver-types.js';

/** What findings have beside their fields. */
export const doctorTypes: Resolvers = { DoctorFinding: { commands: commandsOf } };
