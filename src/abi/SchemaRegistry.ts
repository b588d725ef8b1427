import * as p from '@subsquid/evm-codec'
import { event, fun, viewFun, indexed, ContractBase } from '@subsquid/evm-abi'
import type { EventParams as EParams, FunctionArguments, FunctionReturn } from '@subsquid/evm-abi'

export const events = {
    Registered: event("0xd0b86852e21f9e5fa4bc3b0cff9757ffe243d50c4b43968a42202153d651ea5e", "Registered(bytes32,address,(bytes32,address,bool,string))", {"uid": indexed(p.bytes32), "registerer": indexed(p.address), "schema": p.struct({"uid": p.bytes32, "resolver": p.address, "revocable": p.bool, "schema": p.string})}),
}

export const functions = {
    getSchema: viewFun("0xa2ea7c6e", "getSchema(bytes32)", {"uid": p.bytes32}, p.struct({"uid": p.bytes32, "resolver": p.address, "revocable": p.bool, "schema": p.string})),
    register: fun("0x60d7a278", "register(string,address,bool)", {"schema": p.string, "resolver": p.address, "revocable": p.bool}, p.bytes32),
    version: viewFun("0x54fd4d50", "version()", {}, p.string),
}

export class Contract extends ContractBase {

    getSchema(uid: GetSchemaParams["uid"]) {
        return this.eth_call(functions.getSchema, {uid})
    }

    version() {
        return this.eth_call(functions.version, {})
    }
}

/// Event types
export type RegisteredEventArgs = EParams<typeof events.Registered>

/// Function types
export type GetSchemaParams = FunctionArguments<typeof functions.getSchema>
export type GetSchemaReturn = FunctionReturn<typeof functions.getSchema>

export type RegisterParams = FunctionArguments<typeof functions.register>
export type RegisterReturn = FunctionReturn<typeof functions.register>

export type VersionParams = FunctionArguments<typeof functions.version>
export type VersionReturn = FunctionReturn<typeof functions.version>

