;; Functions over lists of slots from an index, and over bitmaps. A bitmap has one bit for each slot. Addresses are in bytes.
(module
  (import "" "memory" (memory 1 65536))

  ;; Returns the address of the word that has a slot's bit.
  (func $word (param $bits i32) (param $slot i32) (result i32)
    (i32.add (local.get $bits) (i32.shl (i32.shr_u (local.get $slot) (i32.const 5)) (i32.const 2))))

  ;; Returns how many of `count` slots have their bit set.
  (func (export "countOf") (param $slots i32) (param $count i32) (param $bits i32) (result i32)
    (local $end i32) (local $found i32) (local $slot i32)
    (if (i32.eqz (local.get $count)) (then (return (i32.const 0))))
    (local.set $end (i32.add (local.get $slots) (i32.shl (local.get $count) (i32.const 2))))
    (loop $next
      (local.set $slot (i32.load (local.get $slots)))
      (local.set $found
        (i32.add
          (local.get $found)
          (i32.and
            (i32.shr_u (i32.load (call $word (local.get $bits) (local.get $slot))) (local.get $slot))
            (i32.const 1))))
      (local.set $slots (i32.add (local.get $slots) (i32.const 4)))
      (br_if $next (i32.ne (local.get $slots) (local.get $end))))
    (local.get $found))

  ;; Copies the slots whose bit is set; if `flip` is 1, the slots whose bit is not set. The copied slots keep their order. Returns
  ;; how many were copied. `to` may be the same address as `slots`.
  (func (export "select") (param $slots i32) (param $count i32) (param $bits i32) (param $flip i32) (param $to i32) (result i32)
    (local $end i32) (local $first i32) (local $slot i32)
    (if (i32.eqz (local.get $count)) (then (return (i32.const 0))))
    (local.set $first (local.get $to))
    (local.set $end (i32.add (local.get $slots) (i32.shl (local.get $count) (i32.const 2))))
    (loop $next
      (local.set $slot (i32.load (local.get $slots)))
      (i32.store (local.get $to) (local.get $slot))
      (local.set $to
        (i32.add
          (local.get $to)
          (i32.shl
            (i32.and
              (i32.xor
                (local.get $flip)
                (i32.shr_u (i32.load (call $word (local.get $bits) (local.get $slot))) (local.get $slot)))
              (i32.const 1))
            (i32.const 2))))
      (local.set $slots (i32.add (local.get $slots) (i32.const 4)))
      (br_if $next (i32.ne (local.get $slots) (local.get $end))))
    (i32.shr_u (i32.sub (local.get $to) (local.get $first)) (i32.const 2)))

  ;; Flips the bits of `count` slots.
  (func (export "flip") (param $slots i32) (param $count i32) (param $bits i32)
    (local $end i32) (local $slot i32) (local $at i32)
    (if (i32.eqz (local.get $count)) (then (return)))
    (local.set $end (i32.add (local.get $slots) (i32.shl (local.get $count) (i32.const 2))))
    (loop $next
      (local.set $slot (i32.load (local.get $slots)))
      (local.set $at (call $word (local.get $bits) (local.get $slot)))
      (i32.store (local.get $at) (i32.xor (i32.load (local.get $at)) (i32.shl (i32.const 1) (local.get $slot))))
      (local.set $slots (i32.add (local.get $slots) (i32.const 4)))
      (br_if $next (i32.ne (local.get $slots) (local.get $end)))))

  ;; For each bit that is set, writes `base` plus the index of the bit. Reads 64 bits at a time until it has written `most`
  ;; numbers, so it may write up to 63 more. Returns the address after the last number.
  (func (export "gather") (param $bits i32) (param $bytes i32) (param $base i32) (param $out i32) (param $most i32) (result i32)
    (local $end i32) (local $last i32) (local $left i64)
    (local.set $end (i32.add (local.get $bits) (local.get $bytes)))
    (local.set $last (i32.add (local.get $out) (i32.shl (local.get $most) (i32.const 2))))
    (loop $next
      (local.set $left (i64.load (local.get $bits)))
      (block $done
        (loop $bit
          (br_if $done (i64.eqz (local.get $left)))
          (i32.store (local.get $out) (i32.add (local.get $base) (i32.wrap_i64 (i64.ctz (local.get $left)))))
          (local.set $out (i32.add (local.get $out) (i32.const 4)))
          (local.set $left (i64.and (local.get $left) (i64.sub (local.get $left) (i64.const 1))))
          (br $bit)))
      (local.set $base (i32.add (local.get $base) (i32.const 64)))
      (local.set $bits (i32.add (local.get $bits) (i32.const 8)))
      (br_if $next
        (i32.and (i32.ne (local.get $bits) (local.get $end)) (i32.lt_u (local.get $out) (local.get $last)))))
    (local.get $out))

  ;; Writes a bitmap of the slots whose code has the mark 1. `marks` has a byte, 0 or 1, for each code from 0 on. A slot without a
  ;; value has the mark of code 0.
  (func (export "marked") (param $column i32) (param $slots i32) (param $marks i32) (param $to i32)
    (local $end i32) (local $bits i32) (local $bit i32)
    (local.set $end (i32.add (local.get $to) (i32.shr_u (local.get $slots) (i32.const 3))))
    (loop $next
      (local.set $bits (i32.const 0))
      (local.set $bit (i32.const 0))
      (loop $each
        (local.set $bits
          (i32.or
            (local.get $bits)
            (i32.shl
              (i32.load8_u
                (i32.add (local.get $marks) (i32.and (i32.load (local.get $column)) (i32.const 0x7fffffff))))
              (local.get $bit))))
        (local.set $column (i32.add (local.get $column) (i32.const 4)))
        (local.set $bit (i32.add (local.get $bit) (i32.const 1)))
        (br_if $each (i32.lt_u (local.get $bit) (i32.const 32))))
      (i32.store (local.get $to) (local.get $bits))
      (local.set $to (i32.add (local.get $to) (i32.const 4)))
      (br_if $next (i32.ne (local.get $to) (local.get $end)))))

  ;; For each row in the bitmap `bits`, reads the row's code of 32 bits in `column`, which is an id, and sets the bit of this id
  ;; in `to`. The first bit of `to` is that of the id `base`.
  (func (export "setIds32") (param $bits i32) (param $bytes i32) (param $column i32) (param $base i32) (param $to i32)
    (local $end i32) (local $left i64) (local $id i32) (local $at i32)
    (local.set $end (i32.add (local.get $bits) (local.get $bytes)))
    (loop $next
      (local.set $left (i64.load (local.get $bits)))
      (block $done
        (loop $bit
          (br_if $done (i64.eqz (local.get $left)))
          (local.set $id
            (i32.sub
              (i32.load
                (i32.add (local.get $column) (i32.shl (i32.wrap_i64 (i64.ctz (local.get $left))) (i32.const 2))))
              (local.get $base)))
          (local.set $at (call $word (local.get $to) (local.get $id)))
          (i32.store (local.get $at) (i32.or (i32.load (local.get $at)) (i32.shl (i32.const 1) (local.get $id))))
          (local.set $left (i64.and (local.get $left) (i64.sub (local.get $left) (i64.const 1))))
          (br $bit)))
      (local.set $column (i32.add (local.get $column) (i32.const 256)))
      (local.set $bits (i32.add (local.get $bits) (i32.const 8)))
      (br_if $next (i32.ne (local.get $bits) (local.get $end)))))

  ;; Sets the bits of the ids in a column, as setIds32 does, for ids of 64 bits.
  (func (export "setIds64") (param $bits i32) (param $bytes i32) (param $column i32) (param $base i64) (param $to i32)
    (local $end i32) (local $left i64) (local $id i32) (local $at i32)
    (local.set $end (i32.add (local.get $bits) (local.get $bytes)))
    (loop $next
      (local.set $left (i64.load (local.get $bits)))
      (block $done
        (loop $bit
          (br_if $done (i64.eqz (local.get $left)))
          (local.set $id
            (i32.wrap_i64
              (i64.sub
                (i64.load
                  (i32.add (local.get $column) (i32.shl (i32.wrap_i64 (i64.ctz (local.get $left))) (i32.const 3))))
                (local.get $base))))
          (local.set $at (call $word (local.get $to) (local.get $id)))
          (i32.store (local.get $at) (i32.or (i32.load (local.get $at)) (i32.shl (i32.const 1) (local.get $id))))
          (local.set $left (i64.and (local.get $left) (i64.sub (local.get $left) (i64.const 1))))
          (br $bit)))
      (local.set $column (i32.add (local.get $column) (i32.const 512)))
      (local.set $bits (i32.add (local.get $bits) (i32.const 8)))
      (br_if $next (i32.ne (local.get $bits) (local.get $end)))))

  ;; Writes a bitmap of the slots whose code of 32 bits is one of the ids. `ids` has a bit for each id from `base` on. The bit
  ;; with the number `size` is never set: it is read for each code outside the range of `ids`.
  (func (export "amongIds32")
    (param $column i32) (param $slots i32) (param $ids i32) (param $base i32) (param $size i32) (param $to i32)
    (local $end i32) (local $bits i32) (local $bit i32) (local $id i32)
    (local.set $end (i32.add (local.get $to) (i32.shr_u (local.get $slots) (i32.const 3))))
    (loop $next
      (local.set $bits (i32.const 0))
      (local.set $bit (i32.const 0))
      (loop $each
        (local.set $id (i32.sub (i32.load (local.get $column)) (local.get $base)))
        (local.set $id
          (select (local.get $id) (local.get $size) (i32.lt_u (local.get $id) (local.get $size))))
        (local.set $bits
          (i32.or
            (local.get $bits)
            (i32.shl
              (i32.and
                (i32.shr_u (i32.load (call $word (local.get $ids) (local.get $id))) (local.get $id))
                (i32.const 1))
              (local.get $bit))))
        (local.set $column (i32.add (local.get $column) (i32.const 4)))
        (local.set $bit (i32.add (local.get $bit) (i32.const 1)))
        (br_if $each (i32.lt_u (local.get $bit) (i32.const 32))))
      (i32.store (local.get $to) (local.get $bits))
      (local.set $to (i32.add (local.get $to) (i32.const 4)))
      (br_if $next (i32.ne (local.get $to) (local.get $end)))))

  ;; Writes a bitmap of the slots whose code is one of the ids, as amongIds32 does, for codes of 64 bits.
  (func (export "amongIds64")
    (param $column i32) (param $slots i32) (param $ids i32) (param $base i64) (param $size i32) (param $to i32)
    (local $end i32) (local $bits i32) (local $bit i32) (local $code i64) (local $id i32)
    (local.set $end (i32.add (local.get $to) (i32.shr_u (local.get $slots) (i32.const 3))))
    (loop $next
      (local.set $bits (i32.const 0))
      (local.set $bit (i32.const 0))
      (loop $each
        (local.set $code (i64.sub (i64.load (local.get $column)) (local.get $base)))
        (local.set $id
          (select
            (i32.wrap_i64 (local.get $code))
            (local.get $size)
            (i64.lt_u (local.get $code) (i64.extend_i32_u (local.get $size)))))
        (local.set $bits
          (i32.or
            (local.get $bits)
            (i32.shl
              (i32.and
                (i32.shr_u (i32.load (call $word (local.get $ids) (local.get $id))) (local.get $id))
                (i32.const 1))
              (local.get $bit))))
        (local.set $column (i32.add (local.get $column) (i32.const 8)))
        (local.set $bit (i32.add (local.get $bit) (i32.const 1)))
        (br_if $each (i32.lt_u (local.get $bit) (i32.const 32))))
      (i32.store (local.get $to) (local.get $bits))
      (local.set $to (i32.add (local.get $to) (i32.const 4)))
      (br_if $next (i32.ne (local.get $to) (local.get $end)))))
)
