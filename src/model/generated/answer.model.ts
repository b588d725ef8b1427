import {Entity as Entity_, Column as Column_, PrimaryColumn as PrimaryColumn_, Index as Index_, StringColumn as StringColumn_, JSONColumn as JSONColumn_, BigIntColumn as BigIntColumn_, DateTimeColumn as DateTimeColumn_, BooleanColumn as BooleanColumn_, IntColumn as IntColumn_} from "@subsquid/typeorm-store"

/**
 * One row an answer of this service that is an attestation
 */
@Index_(["timestamp", "id"], {unique: false})
@Index_(["attester", "timestamp"], {unique: false})
@Index_(["recipient", "timestamp"], {unique: false})
@Index_(["operation", "timestamp"], {unique: false})
@Entity_()
export class Answer {
    constructor(props?: Partial<Answer>) {
        Object.assign(this, props)
    }

    /**
     * <chain>-<uid>
     */
    @PrimaryColumn_()
    id!: string

    @Index_()
    @StringColumn_({nullable: false})
    uid!: string

    @StringColumn_({nullable: false})
    chain!: string

    /**
     * lower-case; as EAS has it: of answers for the proxy, the proxy
     */
    @StringColumn_({nullable: false})
    attester!: string

    /**
     * lower-case
     */
    @StringColumn_({nullable: false})
    recipient!: string

    /**
     * Such as distance or within:50000
     */
    @StringColumn_({nullable: false})
    operation!: string

    /**
     * A number of units, or a boolean: as it was answered
     */
    @JSONColumn_({nullable: false})
    result!: unknown

    /**
     * meters or square_meters; null for booleans
     */
    @StringColumn_({nullable: true})
    units!: string | undefined | null

    /**
     * The whole number that the payload holds; null for booleans
     */
    @BigIntColumn_({nullable: true})
    value!: bigint | undefined | null

    /**
     * One an input: the UID of an attestation, or the hash of a geometry
     */
    @StringColumn_({array: true, nullable: false})
    inputRefs!: (string)[]

    /**
     * When it was computed
     */
    @DateTimeColumn_({nullable: false})
    computedAt!: Date

    /**
     * When it was attested: the time of its block
     */
    @DateTimeColumn_({nullable: false})
    timestamp!: Date

    @BooleanColumn_({nullable: false})
    revoked!: boolean

    @DateTimeColumn_({nullable: false})
    createdAt!: Date

    @DateTimeColumn_({nullable: false})
    updatedAt!: Date

    @StringColumn_({nullable: false})
    schemaUid!: string

    @StringColumn_({nullable: false})
    refUid!: string

    @BooleanColumn_({nullable: false})
    revocable!: boolean

    /**
     * Unix seconds; 0 = never
     */
    @BigIntColumn_({nullable: false})
    expirationTime!: bigint

    @DateTimeColumn_({nullable: true})
    revocationTime!: Date | undefined | null

    @IntColumn_({nullable: false})
    blockNumber!: number

    @StringColumn_({nullable: false})
    blockHash!: string

    @StringColumn_({nullable: false})
    transactionHash!: string

    @IntColumn_({nullable: false})
    logIndex!: number
}
