// HORUS_MESSAGE declares a message type; the compiler computes the schema of the struct.
#ifndef HORUS_SCHEMA_HPP
#define HORUS_SCHEMA_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "fields.hpp"

/// Makes a struct a message type: write `HORUS_MESSAGE(Pose, x, y, theta);` after the struct, in
/// its namespace, with all of its fields in order. At most 64 fields.
///
/// Fields are std::uint8_t to std::uint64_t, std::int8_t to std::int64_t, float, double, `char[N]`
/// for text, scoped enumerations, other messages, and arrays of these (also std::array). Padding is
/// not allowed: put larger fields first, and fill a remaining gap with a field `_reserved`. A
/// violation is a compile error that names the rule.
///
/// The schema and its hash are equal to those of `message!` with the same fields in Rust.
#define HORUS_MESSAGE(Type, ...)                                                                   \
    static_assert(std::is_standard_layout_v<Type> && std::is_trivially_copyable_v<Type>,           \
                  "horus: a message is plain data: public fields, no base with fields, no virtual " \
                  "functions, no pointers, strings or containers");                                \
    [[maybe_unused]] constexpr auto horus_fields_of(const Type *) noexcept {                       \
        return ::std::array{HORUS_EACH(HORUS_FIELD, Type, __VA_ARGS__)};                           \
    }                                                                                              \
    [[maybe_unused]] constexpr const char *horus_name_of(const Type *) noexcept {                  \
        return ::horus::detail::bare_name(#Type);                                                  \
    }                                                                                              \
    static_assert(::horus::detail::check_layout<Type>())

/// Makes a struct derived from `horus::Framed<Header, Element>` a message type: a header, followed
/// by elements with the name `tail` up to the end of the message.
#define HORUS_FRAMED(Type, tail)                                                                   \
    [[maybe_unused]] constexpr const char *horus_name_of(const Type *) noexcept {                  \
        return ::horus::detail::bare_name(#Type);                                                  \
    }                                                                                              \
    [[maybe_unused]] constexpr const char *horus_tail_of(const Type *) noexcept { return #tail; }  \
    static_assert(std::is_base_of_v<::horus::detail::FramedBase, Type>,                            \
                  "horus: HORUS_FRAMED is for structs derived from horus::Framed<Header, Element>")

#define HORUS_FIELD(Type, field)                                                                   \
    ::horus::detail::field_of<decltype(Type::field)>(#field, offsetof(Type, field))

namespace horus {

static_assert(sizeof(float) == 4 && std::numeric_limits<float>::is_iec559, "float is not f32");
static_assert(sizeof(double) == 8 && std::numeric_limits<double>::is_iec559, "double is not f64");

/// The hash of a schema text: FNV-1a with 128 bits, equal in Rust, C++ and Python.
struct SchemaHash {
    std::uint64_t high;
    std::uint64_t low;
};

constexpr bool operator==(const SchemaHash &a, const SchemaHash &b) noexcept {
    return a.high == b.high && a.low == b.low;
}

constexpr bool operator!=(const SchemaHash &a, const SchemaHash &b) noexcept { return !(a == b); }

namespace detail {

struct FramedBase {};

}  // namespace detail

/// The base class of a message with a variable length: a header and any number of elements. It is
/// never instantiated; a Loan and a Borrow have `header()` and `data()`.
template <class HeaderType, class ElementType>
struct Framed : detail::FramedBase {
    using Header = HeaderType;
    using Element = ElementType;
};

namespace detail {

struct Schema;

/// One field: `count` contiguous elements, each a number, a text or a message.
///
/// WHY flags instead of null pointers: with -fsanitize=undefined, gcc does not accept a comparison
/// with null as a constant expression.
struct Field {
    const char *name;
    const char *primitive;
    std::size_t offset;
    std::size_t count;
    std::size_t element_bytes;
    std::size_t element_align;
    std::size_t text_bytes;
    bool is_message;
    const Schema *inner;
};

struct Schema {
    const char *name;
    std::size_t size;
    std::size_t align;
    const Field *fields;
    std::size_t field_count;
    bool has_tail;
    const char *tail_name;
    const char *tail_primitive;
};

template <class>
inline constexpr bool never = false;

template <class T, class = void>
struct HasFields : std::false_type {};
template <class T>
struct HasFields<T, std::void_t<decltype(horus_fields_of(static_cast<const T *>(nullptr)))>>
    : std::true_type {};

template <class T, class = void>
struct IsFramed : std::false_type {};
template <class T>
struct IsFramed<T, std::void_t<decltype(horus_tail_of(static_cast<const T *>(nullptr)))>>
    : std::true_type {};

template <class T>
constexpr bool is_enum_class() noexcept {
    if constexpr (std::is_enum_v<T>) {
        return !std::is_convertible_v<T, std::underlying_type_t<T>>;
    } else {
        return false;
    }
}

template <class T>
constexpr bool is_letter() noexcept {
#ifdef __cpp_char8_t
    if constexpr (std::is_same_v<T, char8_t>) {
        return true;
    }
#endif
    return std::is_same_v<T, char> || std::is_same_v<T, wchar_t> || std::is_same_v<T, char16_t> ||
           std::is_same_v<T, char32_t>;
}

/// Returns the name of a number type in a schema text; "" for other types.
template <class T>
constexpr const char *primitive_of() noexcept {
    if constexpr (is_enum_class<T>()) {
        return primitive_of<std::underlying_type_t<T>>();
    } else if constexpr (std::is_same_v<T, float>) {
        return "f32";
    } else if constexpr (std::is_same_v<T, double>) {
        return "f64";
    } else if constexpr (!std::is_integral_v<T> || std::is_same_v<T, bool> || is_letter<T>()) {
        return "";
    } else if constexpr (std::is_signed_v<T>) {
        constexpr const char *names[] = {"", "i8", "i16", "", "i32", "", "", "", "i64"};
        return sizeof(T) <= 8 ? names[sizeof(T)] : "";
    } else {
        constexpr const char *names[] = {"", "u8", "u16", "", "u32", "", "", "", "u64"};
        return sizeof(T) <= 8 ? names[sizeof(T)] : "";
    }
}

template <class T>
constexpr bool is_number() noexcept {
    return primitive_of<T>()[0] != 0;
}

/// Removes the array dimensions of a field type. `count` is the number of elements of all
/// dimensions; `text_bytes` is the length of a text, 0 for other elements.
template <class T>
struct Peeled {
    using Element = T;
    static constexpr std::size_t count = 1;
    static constexpr std::size_t text_bytes = std::is_same_v<T, char> ? 1 : 0;
};
template <class T, std::size_t N>
struct Peeled<T[N]> {
    using Element = typename Peeled<T>::Element;
    static constexpr std::size_t count = N * Peeled<T>::count;
    static constexpr std::size_t text_bytes = Peeled<T>::text_bytes;
};
template <class T, std::size_t N>
struct Peeled<std::array<T, N>> : Peeled<T[N]> {
    static_assert(N > 0 && sizeof(std::array<T, N>) == N * sizeof(T),
                  "horus: an array in a message must have elements");
};
template <std::size_t N>
struct Peeled<char[N]> {
    using Element = char;
    static constexpr std::size_t count = 1;
    static constexpr std::size_t text_bytes = N;
};
template <std::size_t N>
struct Peeled<std::array<char, N>> : Peeled<char[N]> {};

template <class T>
struct SchemaOf;

template <class Member>
constexpr Field field_of(const char *name, std::size_t offset) noexcept {
    using Element = typename Peeled<Member>::Element;
    constexpr std::size_t count = Peeled<Member>::count;
    constexpr std::size_t text = Peeled<Member>::text_bytes;
    if constexpr (text > 0) {
        return {name, "char", offset, count, text, 1, text, false, nullptr};
    } else if constexpr (is_number<Element>()) {
        constexpr std::size_t bytes = sizeof(Element);
        return {name, primitive_of<Element>(), offset, count, bytes, bytes, 0, false, nullptr};
    } else if constexpr (HasFields<Element>::value) {
        constexpr const Schema *inner = &SchemaOf<Element>::schema;
        return {name, "", offset, count, sizeof(Element), alignof(Element), 0, true, inner};
    } else {
        static_assert(never<Element>,
                      "horus: this type cannot be a field of a message. Fields are std::uint8_t to "
                      "std::uint64_t, std::int8_t to std::int64_t, float, double, char[N], structs "
                      "with HORUS_MESSAGE, and arrays of those. Write a flag as std::uint8_t");
        return {};
    }
}

/// Returns `name` without namespaces.
constexpr const char *bare_name(const char *name) noexcept {
    const char *bare = name;
    for (; *name != 0; ++name) {
        if (*name == ':' || *name == ' ') {
            bare = name + 1;
        }
    }
    return bare;
}

/// The reason why fields do not fill a struct.
enum class Gap { none, order, field, padding };

/// Returns the reason why `fields` do not fill a struct of `size` bytes. A gap that is shorter than
/// the alignment of what follows counts as padding.
template <std::size_t N>
constexpr Gap gap_in(const std::array<Field, N> &fields, std::size_t size,
                     std::size_t align) noexcept {
    Gap gap = Gap::none;
    std::size_t end = 0;
    for (std::size_t index = 0; index <= N; ++index) {
        const std::size_t next = index < N ? fields[index].offset : size;
        const std::size_t next_align = index < N ? fields[index].element_align : align;
        if (next < end) {
            return Gap::order;
        }
        if (next > end && gap == Gap::none) {
            gap = next - end < next_align ? Gap::padding : Gap::field;
        }
        end = next + (index < N ? fields[index].count * fields[index].element_bytes : 0);
    }
    return gap;
}

template <std::size_t N>
constexpr bool aligned(const std::array<Field, N> &fields) noexcept {
    for (std::size_t index = 0; index < N; ++index) {
        if (fields[index].offset % fields[index].element_align != 0) {
            return false;
        }
    }
    return true;
}

template <class T>
constexpr bool check_layout() noexcept {
    constexpr auto fields = horus_fields_of(static_cast<const T *>(nullptr));
    static_assert(aligned(fields), "horus: a message cannot be packed: put larger fields first");
    constexpr Gap gap = gap_in(fields, sizeof(T), alignof(T));
    static_assert(gap != Gap::order,
                  "horus: HORUS_MESSAGE must name the fields in their order in the struct, and "
                  "each of them once");
    static_assert(gap != Gap::field,
                  "horus: HORUS_MESSAGE must name all fields, and one is missing");
    static_assert(gap != Gap::padding,
                  "horus: there must be no padding between or behind the fields of a message: put "
                  "larger fields first, and add `_reserved`. If HORUS_MESSAGE lacks a small field, "
                  "name it");
    return true;
}

/// Counts the bytes of a text and computes its hash. Stores the text in `out` if `keeps` is true.
struct Writer {
    bool keeps = false;
    char *out = nullptr;
    std::size_t bytes = 0;
    std::uint64_t high = 0x6c62272e07bb0142u;
    std::uint64_t low = 0x62b821756295c58du;

    constexpr void byte(char letter) noexcept {
        if (keeps) {
            out[bytes] = letter;
        }
        ++bytes;
        // The prime is 2^88 + 0x13b.
        low ^= static_cast<unsigned char>(letter);
        const std::uint64_t first = (low & 0xffffffffu) * 0x13bu;
        const std::uint64_t second = (low >> 32) * 0x13bu + (first >> 32);
        high = high * 0x13bu + (second >> 32) + (low << 24);
        low = (second << 32) | (first & 0xffffffffu);
    }

    constexpr void text(const char *text) noexcept {
        for (; *text != 0; ++text) {
            byte(*text);
        }
    }

    constexpr void number(std::size_t number) noexcept {
        if (number >= 10) {
            this->number(number / 10);
        }
        byte(static_cast<char>('0' + number % 10));
    }
};

/// The messages that contain a field, innermost first. The last entry, of depth 0, is empty.
struct Outer {
    std::size_t depth;
    const Field *field;
    const Outer *around;
};

constexpr void write_path(Writer &out, const Outer *outer) noexcept {
    if (outer->depth > 0) {
        write_path(out, outer->around);
        out.text(outer->field->name);
        out.byte('.');
    }
}

constexpr void write_arrays(Writer &out, const Outer *outer) noexcept {
    if (outer->depth > 0) {
        write_arrays(out, outer->around);
        if (outer->field->count != 1) {
            out.byte(' ');
            out.number(outer->field->count);
            out.byte('*');
            out.number(outer->field->element_bytes);
        }
    }
}

constexpr void write_fields(Writer &out, const Schema &schema, std::size_t offset,
                            const Outer *around) noexcept {
    for (std::size_t index = 0; index < schema.field_count; ++index) {
        const Field &field = schema.fields[index];
        const Outer outer{around->depth + 1, &field, around};
        if (field.is_message) {
            write_fields(out, *field.inner, offset + field.offset, &outer);
            continue;
        }
        out.text("field ");
        write_path(out, around);
        out.text(field.name);
        out.byte(' ');
        out.text(field.primitive);
        out.byte(' ');
        out.number(offset + field.offset);
        out.byte(' ');
        out.number(field.text_bytes != 0 ? field.text_bytes : field.count);
        write_arrays(out, field.text_bytes != 0 ? &outer : around);
        out.byte('\n');
    }
}

/// Writes the schema text, in the format that horus_core/src/message/schema.rs defines.
constexpr void write_schema(Writer &out, const Schema &schema) noexcept {
    out.text("horus schema 1\nmessage ");
    out.text(schema.name);
    out.text("\nsize ");
    out.number(schema.size);
    out.text("\nalign ");
    out.number(schema.align);
    out.byte('\n');
    const Outer none{0, nullptr, nullptr};
    write_fields(out, schema, 0, &none);
    if (schema.has_tail) {
        out.text("tail ");
        out.text(schema.tail_name);
        out.byte(' ');
        out.text(schema.tail_primitive);
        out.byte('\n');
    }
}

struct Digest {
    std::size_t bytes;
    SchemaHash hash;
};

constexpr Digest digest_of(const Schema &schema) noexcept {
    Writer writer;
    write_schema(writer, schema);
    return {writer.bytes, {writer.high, writer.low}};
}

constexpr bool same(const char *a, const char *b) noexcept {
    for (; *a != 0 && *a == *b; ++a, ++b) {
    }
    return *a == *b;
}

template <std::size_t N>
constexpr bool has_field(const std::array<Field, N> &fields, const char *name) noexcept {
    for (std::size_t index = 0; index < N; ++index) {
        if (same(fields[index].name, name)) {
            return true;
        }
    }
    return false;
}

template <class T>
constexpr auto fields_of() noexcept {
    if constexpr (IsFramed<T>::value) {
        return horus_fields_of(static_cast<const typename T::Header *>(nullptr));
    } else {
        return horus_fields_of(static_cast<const T *>(nullptr));
    }
}

template <class T>
constexpr Schema schema_of(const Field *fields, std::size_t count) noexcept {
    const char *name = horus_name_of(static_cast<const T *>(nullptr));
    if constexpr (IsFramed<T>::value) {
        using Header = typename T::Header;
        static_assert(is_number<typename T::Element>(),
                      "horus: the elements after the header must be numbers of one type");
        static_assert(sizeof(Header) % sizeof(typename T::Element) == 0,
                      "horus: the header size must be a multiple of the element size");
        return {name, sizeof(Header), alignof(Header), fields, count, true,
                horus_tail_of(static_cast<const T *>(nullptr)),
                primitive_of<typename T::Element>()};
    } else {
        return {name, sizeof(T), alignof(T), fields, count, false, "", ""};
    }
}

template <class T>
struct SchemaOf {
    static constexpr auto fields = fields_of<T>();
    static constexpr Schema schema = schema_of<T>(fields.data(), fields.size());
};

template <class T>
inline constexpr Digest digest = digest_of(SchemaOf<T>::schema);

template <class T>
constexpr auto write_text() noexcept {
    std::array<char, digest<T>.bytes + 1> text{};
    Writer writer{true, text.data()};
    write_schema(writer, SchemaOf<T>::schema);
    return text;
}

template <class T>
inline constexpr auto text = write_text<T>();

template <class T, class = void>
struct HasHash : std::false_type {};
template <class T>
struct HasHash<T, std::void_t<decltype(T::schema_hash)>> : std::true_type {};

/// Checks the rules for messages at compile time. Every class template for messages T calls it.
template <class T>
constexpr bool check_message() noexcept {
    static_assert(HasFields<T>::value || IsFramed<T>::value,
                  "horus: this type is not a message. Write HORUS_MESSAGE(Type, field, ...); after "
                  "the struct, in its namespace; standard messages are in <horus/msg.hpp>");
    if constexpr (HasFields<T>::value || IsFramed<T>::value) {
        static_assert(digest<T>.bytes <= 15 * 1024,
                      "horus: the schema text of this message is longer than 15 KiB: it has too "
                      "many fields");
    }
    if constexpr (IsFramed<T>::value) {
        static_assert(!has_field(fields_of<T>(), horus_tail_of(static_cast<const T *>(nullptr))),
                      "horus: the elements must not have the name of a field of the header");
    }
    if constexpr (HasHash<T>::value) {
        static_assert(digest<T>.hash == T::schema_hash,
                      "horus: the fields of this message do not match its schema_hash");
    }
    return true;
}

}  // namespace detail

/// True if T is a message: it has HORUS_MESSAGE or HORUS_FRAMED.
template <class T>
inline constexpr bool is_message_v = detail::HasFields<T>::value || detail::IsFramed<T>::value;

/// True if T is a message with a variable length.
template <class T>
inline constexpr bool is_framed_v = detail::IsFramed<T>::value;

/// Returns the canonical schema text of a message; it ends in a 0.
template <class T>
constexpr const char *schema_text() noexcept {
    static_assert(detail::check_message<T>());
    return detail::text<T>.data();
}

/// Returns the hash of the schema text.
template <class T>
constexpr SchemaHash schema_hash() noexcept {
    static_assert(detail::check_message<T>());
    return detail::digest<T>.hash;
}

}  // namespace horus

#endif  // HORUS_SCHEMA_HPP
