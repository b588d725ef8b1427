import * as p from '@subsquid/evm-codec'
import { event, fun, viewFun, indexed, ContractBase } from '@subsquid/evm-abi'
import type { EventParams as EParams, FunctionArguments, FunctionReturn } from '@subsquid/evm-abi'

export const functions = {
    aggregate3: viewFun("0x82ad56cb", "aggregate3((address,bool,bytes)[])", {"calls": p.array(p.struct({"target": p.address, "allowFailure": p.bool, "callData": p.bytes}))}, p.array(p.struct({"success": p.bool, "returnData": p.bytes}))),
}

export class Contract extends ContractBase {

    aggregate3(calls: Aggregate3Params["calls"]) {
        return this.eth_call(functions.aggregate3, {calls})
    }
}

/// Function types
export type Aggregate3Params = FunctionArguments<typeof functions.aggregate3>
export type Aggregate3Return = FunctionReturn<typeof functions.aggregate3>

